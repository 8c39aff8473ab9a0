-- The roles of a shared store, for a superuser or the owner of the database to run in it, once:
--
--   psql --dbname=geonce --file=sql/roles/postgres.sql
--
-- geonce_owner owns the schema and runs `geonce migrate`. geonce_app is for everything else: it may read the tables and
-- call the functions through which all changes go, and nothing more: it can neither change nor erase a row of the
-- ledger. geonce_reader is for people and dashboards: it may read the views of docs/how-to/query-with-sql.md and nothing
-- else. May be run again. Passwords, certificates or peer logins are yours to choose:  ALTER ROLE geonce_app PASSWORD …
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'geonce_owner') THEN CREATE ROLE geonce_owner LOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'geonce_app') THEN CREATE ROLE geonce_app LOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'geonce_reader') THEN CREATE ROLE geonce_reader LOGIN; END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS geonce;
ALTER SCHEMA geonce OWNER TO geonce_owner;
REVOKE ALL ON SCHEMA geonce FROM PUBLIC;
GRANT USAGE ON SCHEMA geonce TO geonce_app;

-- For what `geonce migrate` makes from now on, and for what it has made already.
ALTER DEFAULT PRIVILEGES FOR ROLE geonce_owner IN SCHEMA geonce GRANT SELECT ON TABLES TO geonce_app;
GRANT SELECT ON ALL TABLES IN SCHEMA geonce TO geonce_app;
-- Functions change things with the rights of their owner, so they are not for everybody.
ALTER DEFAULT PRIVILEGES FOR ROLE geonce_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE geonce_owner IN SCHEMA geonce GRANT EXECUTE ON FUNCTIONS TO geonce_app;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA geonce FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA geonce TO geonce_app;
DO $$
BEGIN
  IF to_regprocedure('geonce.let_readers_in()') IS NOT NULL THEN PERFORM geonce.let_readers_in(); END IF;
END $$;

-- A process that was cut off must not hold the locks of its addresses for long.
ALTER ROLE geonce_app SET statement_timeout = '60s';
ALTER ROLE geonce_app SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE geonce_app SET client_connection_check_interval = '2s';
