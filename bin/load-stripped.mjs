/**
 * Loaded before everything else in every thread and child process of a service that runs its sources
 * (`bin/tapeline`): sources are read from where `strip-sources.mjs` has put them without types.
 */
import { readFileSync } from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'

const ROOT = new URL('../', import.meta.url).href

// An old Node does not have it; `start.mjs` then says which one is needed.
module.registerHooks?.({
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
