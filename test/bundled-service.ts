/**
 * The service as a few files instead of hundreds: finding, reading and stripping them is half of the cost of starting
 * it, and tests start it hundreds of times, as a process or as one of its threads. The code is that of the repository,
 * bundled again whenever one of its files has changed. Imports of the tests themselves still use the original files.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle, madeOnce, ROOT, USE } from './bundle.ts'

/** The entry points of processes; threads and other processes of the service are found where they are started. */
const ENTRIES = ['src/main.ts', 'test/simulation/run.ts']
/** Parts of the service that tests kill. */
const PROCESS = /^test\/.*\/[\w-]+-process\.ts$/
const STARTED = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g
/**
 * Loaded from where it is installed, because it has native parts, is used only to build the dashboard, or not at all.
 */
const EXTERNAL = ['lz4-napi', 'vite', 'pino-pretty', 'pg-native', 'bufferutil', 'utf-8-validate']
const fileOf = (entry: string) => `${entry.replace(/\.ts$/, '').replaceAll('/', '-')}.mjs`

/** The address of a module that makes a process and its threads use the bundle, for `--import`. */
export function bundledService(): Promise<string> {
  const hash = createHash('sha256')
  const files = globSync('{src,sandbox,test}/**/*.ts', {
    cwd: ROOT,
    exclude: ['**/*.test.ts', 'src/dashboard/web/**'],
  })
  const entries = new Set(ENTRIES)
  for (const file of [...files.sort(), 'package-lock.json']) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    hash.update(file).update(text)
    if (PROCESS.test(file)) entries.add(file)
    if (!file.startsWith('test/'))
      for (const [, started = ''] of text.matchAll(STARTED)) entries.add(join(dirname(file), started))
  }
  return madeOnce('test-service', hash.digest('hex'), (folder) => bundleService(folder, [...entries]))
}

async function bundleService(folder: string, entries: readonly string[]): Promise<void> {
  await bundle(folder, {
    input: Object.fromEntries(entries.map((entry) => [fileOf(entry), join(ROOT, entry)])),
    external: EXTERNAL,
    plugins: [
      { name: 'own-places', enforce: 'pre', transform: ownPlaces },
      { name: 'no-collections', enforce: 'pre', load: withoutCollections },
    ],
  })
  const files = entries.map((entry) => [pathToFileURL(join(ROOT, entry)).href, fileOf(entry)])
  writeFileSync(
    join(folder, USE),
    `import * as modules from 'node:module'
const own = new URL('.', import.meta.url).href
const files = new Map(${JSON.stringify(files)})
// An older Node, as npm may have, does without.
modules.registerHooks?.({
  resolve(specifier, context, next) {
    // Its files name each other exactly: nothing is to be looked for.
    if (specifier.startsWith('./') && context.parentURL?.startsWith(own))
      return { url: new URL(specifier, own).href, format: 'module', shortCircuit: true }
    // A planted defect is a change of one of the files.
    const isEntry = context.parentURL === undefined && process.env.TAPELINE_PLANT === undefined
    const file = isEntry ? files.get(specifier) : undefined
    if (file === undefined) return next(specifier, context)
    return { url: new URL(file, import.meta.url).href, format: 'module', shortCircuit: true }
  },
})
`,
  )
}

/** Full garbage collections at the end of a start are a fifth of its cost and only pay off in long-running services. */
function withoutCollections(id: string): string | undefined {
  return id === join(ROOT, 'src', 'kit', 'release-memory.ts')
    ? 'export function releaseMemory() {}'
    : undefined
}

/** A file finds others relative to its own location, which differs from that of the bundle. */
function ownPlaces(code: string, id: string) {
  if (id.includes('/node_modules/') || !code.includes('import.meta.')) return undefined
  const places = { url: pathToFileURL(id).href, dirname: dirname(id), filename: id }
  const text = Object.entries(places).reduce(
    (changed, [name, place]) => changed.replaceAll(`import.meta.${name}`, JSON.stringify(place)),
    code,
  )
  return { code: text, map: null }
}
