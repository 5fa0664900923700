/**
 * Starts the command line. It runs on any recent Node, so that whoever has not installed the
 * packages, or has an older Node, gets a sentence instead of a stack trace.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIN_NODE = 26
const root = new URL('../', import.meta.url)
const at = (path) => fileURLToPath(new URL(path, root))
/** A checkout runs its sources, an installed package what was emitted from them (deploy/package/emit.ts). */
const isPackage = !existsSync(at('src/main.ts'))
/** A package has its pages built in. */
const PAGE_PACKAGES = ['lightweight-charts', 'preact', 'vite']

/** npm may have put it beside this package. */
function isInstalled(name) {
  const folders = createRequire(new URL('package.json', root)).resolve.paths(name) ?? []
  return folders.some((folder) => existsSync(join(folder, name, 'package.json')))
}

function problem() {
  const { dependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  const needed = [...Object.keys(dependencies), ...(isPackage ? [] : PAGE_PACKAGES)]
  const missing = needed.filter((name) => !isInstalled(name))
  if (missing.length > 0) {
    const which = missing.length === needed.length ? '' : ` (${missing.join(', ')})`
    return `Packages of Tapeline are not installed${which}. Run this first: npm ci`
  }
  if (Number(process.versions.node.split('.')[0]) >= MIN_NODE) return undefined
  const old = `Tapeline needs Node ${MIN_NODE} or newer, and this is Node ${process.versions.node}.`
  return existsSync(at('node_modules/.bin/node'))
    ? `${old} Its own is installed: use npm start or bin/tapeline, which find it.`
    : `${old} npm ci brings it on Linux and macOS (x64, arm64); elsewhere install it from https://nodejs.org.`
}

const found = problem()
if (found === undefined) {
  if (process.argv[2] === 'serve') {
    const loadsStripped = process.env.NODE_OPTIONS?.includes('load-stripped.mjs') === true
    if (loadsStripped) {
      const { strippedSources } = await import('./strip-sources.mjs')
      const folder = strippedSources()
      if (folder !== undefined) process.env.STRIPPED_SOURCES = folder
    }
    // A command starts faster with it. A service would keep what was read from it in memory, in every thread.
    if (loadsStripped || isPackage) process.env.NODE_DISABLE_COMPILE_CACHE ??= '1'
  }
  await import(new URL(isPackage ? 'dist/src/main.js' : 'src/main.ts', root).href)
} else {
  process.stderr.write(`${found}\n`)
  process.exitCode = 1
}
