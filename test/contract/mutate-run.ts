/**
 * Loads the declarations with one value changed and compares them with the contract. Each mutant gets fresh
 * copies of the modules (a suffix on their addresses, passed on from module to module), so that one process
 * can try hundreds; no file is written.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { differences } from './compare.ts'
import { derive } from './derived.ts'
import type { Mutant } from './mutants.ts'

const SOURCE = new URL('../../src/', import.meta.url).href
const MARK = /\?mutant=(\d+)$/

export interface Verdict {
  mutant: Mutant
  /** How it was noticed; undefined when it survived. */
  noticed: string | undefined
}

export async function tryMutants(mutants: readonly Mutant[]): Promise<Verdict[]> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const mark = MARK.exec(context.parentURL ?? '')
      if (mark === null || !resolved.url.startsWith(SOURCE) || MARK.test(resolved.url)) return resolved
      return { ...resolved, url: resolved.url + mark[0] }
    },
    load(url, context, next) {
      const mark = MARK.exec(url)
      if (mark === null) return next(url, context)
      const loaded = next(url.replace(MARK, ''), context)
      const mutant = mutants[Number(mark[1])]
      if (mutant === undefined || !fileURLToPath(url.replace(MARK, '')).endsWith(`/${mutant.file}`)) {
        return loaded
      }
      const text = String(loaded.source)
      return { ...loaded, source: text.slice(0, mutant.from) + mutant.becomes + text.slice(mutant.to) }
    },
  })
  try {
    const verdicts: Verdict[] = []
    for (const [index, mutant] of mutants.entries()) {
      verdicts.push({ mutant, noticed: await notice(`?mutant=${index}`) })
    }
    return verdicts
  } finally {
    hooks.deregister()
  }
}

async function notice(suffix: string): Promise<string | undefined> {
  try {
    return differences(await derive(suffix))[0]
  } catch (error) {
    // A change that is no program any more proves nothing.
    if (error instanceof SyntaxError) return undefined
    return `does not load: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}
