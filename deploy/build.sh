#!/bin/sh
# Makes the root file system of the image: build.sh CHECKOUT FOLDER, as root on a Debian with apt-get. The image has the
# service, its Node and the few libraries that they need; no shell, no package manager.
set -eu
checkout=$1
image=$2
user=10001

# npm by its content: Debian's own brings some hundred packages with it.
npm_version=11.19.1
npm_sha512=cedb312b1b7f92421a02cfb68b4194e88f8346651dacd6acc5364a25ef5309d4a32b19616a1ff8aff865e7280c0fa5c0835a99f5cd93368991e2a80ec9da75d2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends ca-certificates curl libatomic1 nodejs >/dev/null
curl -fsSL --retry 3 -o /tmp/npm.tgz "https://registry.npmjs.org/npm/-/npm-$npm_version.tgz"
echo "$npm_sha512  /tmp/npm.tgz" | sha512sum -c --quiet
mkdir -p /tmp/npm
tar -xzf /tmp/npm.tgz -C /tmp/npm --strip-components=1
npm() {
  node /tmp/npm/bin/npm-cli.js "$@"
}

# The package, with exactly the versions of the lock file beside it.
cd "$checkout"
npm ci --no-audit --no-fund
npm pack --silent --pack-destination /tmp
mkdir -p "$image/opt/tapeline"
tar -xzf /tmp/tapeline-*.tgz -C "$image/opt/tapeline" --strip-components=1
cp package-lock.json "$image/opt/tapeline/"
cd "$image/opt/tapeline"
npm ci --omit=dev --no-audit --no-fund
node=$(readlink -f node_modules/.bin/node)

# The libraries of Node and of packages with native parts, at the places where the loader looks for them.
natives=$(find node_modules -name '*.node')
if ldd "$node" $natives | grep 'not found'; then exit 1; fi
ldd "$node" $natives | grep -o '=> /[^ ]*\|^\s*/[^ ]*ld-[^ ]*' | grep -o '/[^ ]*' | sort -u | while read -r library; do
  mkdir -p "$image$(dirname "$library")"
  cp -L "$library" "$image$library"
done
mkdir -p "$image/bin" "$image/etc/ssl/certs" "$image/tmp" "$image/data"
ln -s "${node#"$image"}" "$image/bin/node"
cp -L /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
echo "tapeline:x:$user:$user::/data:/nonexistent" >"$image/etc/passwd"
echo "tapeline:x:$user:" >"$image/etc/group"
echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
chmod 1777 "$image/tmp"
chown "$user:$user" "$image/data"
chmod 0700 "$image/data"

# Nothing is missing.
chroot "$image" /bin/node /opt/tapeline/bin/start.mjs --version
