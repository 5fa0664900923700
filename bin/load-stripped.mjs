/**
 * Loaded before everything else in every thread and child process of a service that runs its sources
 * (`bin/tapeline`): sources are read from where `strip-sources.mjs` has put them without types, and the package that it
 * has bundled from there.
 */
import { existsSync, readFileSync } from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = new URL('../', import.meta.url).href
const BUNDLED = /^typebox(\/(compile|value))?$/

// An old Node does not have it; `start.mjs` then says which one is needed.
module.registerHooks?.({
  resolve(specifier, context, next) {
    const file = BUNDLED.test(specifier) ? bundledFile(specifier, context.parentURL) : undefined
    return file === undefined
      ? next(specifier, context)
      : { url: pathToFileURL(file).href, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    const folder = process.env.STRIPPED_SOURCES
    if (folder === undefined || !url.startsWith(ROOT) || !url.endsWith('.ts')) return next(url, context)
    const source = readStripped(join(folder, decodeURIComponent(url.slice(ROOT.length))))
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})

/** Undefined for one that was added meanwhile, or when another start has stripped newer ones. */
function readStripped(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** Undefined for what other packages import, which may be another version, and where it could not be bundled. */
function bundledFile(specifier, importer) {
  const folder = process.env.STRIPPED_SOURCES
  if (folder === undefined || !importer?.startsWith(ROOT) || importer.includes('/node_modules/'))
    return undefined
  const file = join(folder, 'packages', `${specifier.replace('/', '-')}.mjs`)
  return existsSync(file) ? file : undefined
}
