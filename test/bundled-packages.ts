/**
 * Packages with hundreds of small files, each bundled into one file: finding and reading those files is a third of the
 * cost of starting a process, and tests start hundreds. The code is that of the packages; it is bundled again whenever
 * the installed packages have changed.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, madeOnce, ROOT, USE } from './bundle.ts'

const NAMES = ['typebox', 'typebox/value', 'typebox/compile', 'undici', 'fastify', 'prom-client']
/** Loaded by `require` when it is first needed. */
const REQUIRED = ['undici']
/** A plain import reads every property of it, including those for which Node loads a whole HTTP client. */
const BUILTINS = ['node:http']
const fileOf = (name: string) => `${name.replaceAll(/[/:]/g, '-')}.mjs`

/** The address of a module that makes a process use the bundled packages, for `--import`. */
export function bundledPackages(): Promise<string> {
  const hash = createHash('sha256')
  for (const file of [join(ROOT, 'package-lock.json'), import.meta.filename, join(ROOT, 'test', 'bundle.ts')])
    hash.update(readFileSync(file))
  return madeOnce('test-packages', hash.digest('hex'), bundlePackages)
}

async function bundlePackages(folder: string): Promise<void> {
  const input: Record<string, string> = {}
  for (const name of NAMES) {
    const entry = join(folder, `entry-${fileOf(name)}`)
    writeFileSync(entry, entryOf(name, await import(name)))
    input[fileOf(name)] = entry
  }
  await bundle(folder, { input, external: ['pino-pretty'] })
  for (const name of BUILTINS) writeFileSync(join(folder, fileOf(name)), withoutGetters(name))
  const files = JSON.stringify([...NAMES, ...BUILTINS].map((name) => [name, fileOf(name)]))
  writeFileSync(
    join(folder, USE),
    `import * as modules from 'node:module'
const files = new Map(${files})
const required = new Set(${JSON.stringify(REQUIRED)})
// An older Node, as npm may have, does without.
modules.registerHooks?.({
  resolve(specifier, context, next) {
    // Files of the project name each other exactly: nothing is to be looked for.
    if (/^\\.\\.?\\/.*\\.ts$/.test(specifier) && context.parentURL?.startsWith('file:'))
      return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
    const isKnown = context.conditions.includes('import') || required.has(specifier)
    const file = isKnown ? files.get(specifier) : undefined
    if (file === undefined || context.parentURL?.includes('/node_modules/')) return next(specifier, context)
    return { url: new URL(file, import.meta.url).href, format: 'module', shortCircuit: true }
  },
})
`,
  )
}

/** A Node module without the properties that are loaded only when they are read. */
function withoutGetters(name: string): string {
  const properties = Object.getOwnPropertyDescriptors(process.getBuiltinModule(name))
  const names = Object.keys(properties).filter((each) => 'value' in (properties[each] ?? {}))
  return `const all = process.getBuiltinModule(${JSON.stringify(name)})\nexport default all\nexport const { ${names.join(', ')} } = all\n`
}

/** Named exports of a CommonJS package have to be listed, because a bundler does not know them. */
function entryOf(name: string, exported: Record<string, unknown>): string {
  const from = JSON.stringify(name)
  if (!('module.exports' in exported))
    return `export * from ${from}\n${'default' in exported ? `export { default } from ${from}\n` : ''}`
  const names = Object.keys(exported).filter(
    (each) => each !== 'default' && each !== 'module.exports' && /^[A-Za-z_$][\w$]*$/.test(each),
  )
  const values = names.map((each) => `const _${each} = all[${JSON.stringify(each)}]\n`).join('')
  return `import all from ${from}\nexport default all\n${values}export { ${names.map((each) => `_${each} as ${each}`).join(', ')} }\n`
}
