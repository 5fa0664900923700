/** No timer, date, random number, socket, file or thread outside the injected ports and the listed adapters. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADAPTERS, OUTSIDE, type Reality } from './adapters.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Modules by what they give access to. Turns of the event loop, hashes and address parsers give access to nothing. */
const MODULES: readonly { readonly name: RegExp; readonly reality: Reality; readonly harmless?: RegExp }[] = [
  { name: /^node:timers(\/promises)?$/, reality: 'timer', harmless: /^(setImmediate|clearImmediate)$/ },
  {
    name: /^node:(net|http|https|http2|tls|dgram|dns)(\/promises)?$/,
    reality: 'network',
    harmless: /^(isIP|isIPv4|isIPv6|BlockList)$/,
  },
  { name: /^(ws|undici|fastify|@fastify\/.*)$/, reality: 'network' },
  { name: /^node:(fs|sqlite)(\/promises)?$/, reality: 'file' },
  { name: /^node:(worker_threads|child_process|cluster)$/, reality: 'thread' },
  {
    name: /^(node:(os|perf_hooks|vm|process|async_hooks|inspector|repl|readline)|pino|prom-client)$/,
    reality: 'process',
  },
  { name: /^node:v8$/, reality: 'process', harmless: /^(serialize|deserialize)$/ },
]

/** Names by what they give access to, wherever they are imported from. */
const NAMES: readonly { readonly name: RegExp; readonly reality: Reality }[] = [
  { name: /\b(setTimeout|setInterval)\b/, reality: 'timer' },
  { name: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.|\bhrtime\b|\bsystemClock\b/, reality: 'time' },
  { name: /\bMath\.random\b|\bgetRandomValues\b|\bglobalThis\b/, reality: 'chance' },
  { name: /\bnew WebSocket\(/, reality: 'network' },
  { name: /\bprocess\.\w/, reality: 'process' },
]
const CRYPTO: Readonly<Record<string, Reality>> = {
  randomBytes: 'chance',
  randomUUID: 'chance',
  randomInt: 'chance',
  randomFill: 'chance',
  randomFillSync: 'chance',
  webcrypto: 'chance',
  argon2: 'thread',
  scrypt: 'thread',
  pbkdf2: 'thread',
  hkdf: 'thread',
  generateKeyPair: 'thread',
}

const LATE_IMPORT = /\b(?:import|require|getBuiltinModule)\(\s*'([^']+)'|^export .* from '([^']+)'/gm
const IMPORT = /^import (?!type\b)([^'"]*?)\s*from '([^']+)'/gm

function usesOf(path: string): Reality[] {
  const code = readFileSync(join(ROOT, path), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
  const uses = new Set<Reality>()
  for (const [, clause = '', module = ''] of code.matchAll(IMPORT)) {
    const braces = /\{([\s\S]*)\}/.exec(clause)?.[1]
    const names = (braces ?? '*')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '' && !part.startsWith('type '))
      .map((part) => part.split(' as ')[0] ?? '')
    for (const { name, reality, harmless } of MODULES)
      if (name.test(module) && names.some((each) => harmless?.test(each) !== true)) uses.add(reality)
    if (module === 'node:crypto') {
      if (braces === undefined) uses.add('chance')
      for (const each of names) if (CRYPTO[each] !== undefined) uses.add(CRYPTO[each])
    }
  }
  for (const [, late, passed] of code.matchAll(LATE_IMPORT))
    for (const { name, reality } of MODULES) if (name.test(late ?? passed ?? '')) uses.add(reality)
  const body = code.replaceAll(IMPORT, '')
  for (const { name, reality } of NAMES) if (name.test(body)) uses.add(reality)
  return [...uses].sort()
}

const files = globSync(['src/**/*.ts', 'sandbox/**/*.ts'], { cwd: ROOT })
  .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('src/store/conformance/'))
  .filter(
    (path) => !OUTSIDE.some((place) => path === place || (place.endsWith('/') && path.startsWith(place))),
  )
  .sort()

test('every file but the listed adapters gets time, chance, network, files and threads passed in', () => {
  const found = files
    .map((path) => ({ path, uses: usesOf(path) }))
    .filter(({ path, uses }) => uses.length > 0 && ADAPTERS[path] === undefined)
    .map(({ path, uses }) => `${path} uses ${uses.join(', ')}`)
  assert.deepEqual(found, [])
})

test('the list of adapters says what each of them uses, and holds none that does not need it', () => {
  const wrong = Object.entries(ADAPTERS).flatMap(([path, { uses }]) => {
    if (!existsSync(join(ROOT, path))) return [`${path} does not exist`]
    const found = usesOf(path)
    return found.join() === [...uses].sort().join() ? [] : [`${path} uses ${found.join(', ') || 'nothing'}`]
  })
  assert.deepEqual(wrong, [])
})

test('the scan finds what it is for', () => {
  // Known uses: otherwise a scan that finds nothing anywhere would pass as well.
  assert.deepEqual(usesOf('src/kit/clock.ts'), ['time', 'timer'])
  assert.deepEqual(usesOf('src/main.ts').includes('file'), true)
  assert.deepEqual(usesOf('src/app/secrets.ts').includes('chance'), true)
  assert.ok(files.length > 400)
})
