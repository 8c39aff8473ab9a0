# Sourced by ./run and ./test: shows each command before it runs.

# step TEXT: a heading
step() { printf '\n== %s\n' "$*"; }

# show COMMAND…: prints the command as one could type it, then runs it
show() {
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}
