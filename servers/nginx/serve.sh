#!/bin/sh
# serve.sh OUT: fills in the variables of nginx's configuration, which has none, and runs nginx. The
# configuration and the assets (njs takes only JSON) are files that are deleted once they are open.
set -eu

out=$1

# json FILE: the text of a file as a JSON string.
json() {
  printf '"'
  sed 's/[\\"]/\\&/g; s/$/\\n/' "$ASSETS/$1" | tr -d '\n'
  printf '"'
}

if [ -n "${TLS_CERT:-}" ]; then
  ssl="ssl http2"
  certificate="ssl_certificate $TLS_CERT; ssl_certificate_key $TLS_KEY;"
else
  ssl=
  certificate=
fi

sed "s|@HOST@|$HOST|; s|@PORT@|$PORT|; s|@CPUS@|$CPUS|; s|@ASSETS@|$ASSETS|; s|@OUT@|$out|; s|@HERE@|$PWD|; s|@SSL@|$ssl|; s|@CERTIFICATE@|$certificate|" \
  nginx.conf >"$out/$PORT.conf"
printf '{ "page": %s, "smallPage": %s, "quotes": %s }\n' \
  "$(json page-100k.html)" "$(json page-20k.html)" "$(json quotes.txt)" >"$out/$PORT.json"

exec 3<"$out/$PORT.conf" 4<"$out/$PORT.json"
rm "$out/$PORT.conf" "$out/$PORT.json"
exec nginx -e stderr -c /dev/fd/3
