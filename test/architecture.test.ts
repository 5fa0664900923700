/** Proves the import table of the architecture, that there are no cycles, and where the environment is read. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { SOURCES } from '../src/core/source.ts'

const ROOT = join(import.meta.dirname, '..')

/** folder → what it may import besides itself. `x/port` is every file directly in x (not its engines). */
const ALLOWED: Record<string, string[]> = {
  core: [],
  kit: [],
  parser: ['core'],
  venues: ['core', 'kit'],
  upstreams: ['core', 'kit'],
  store: ['core', 'kit'],
  accounts: ['core', 'kit', 'store/port'],
  ingest: ['core', 'kit', 'venues/port', 'store/port'],
  events: ['core', 'kit', 'store/port'],
  relay: ['core', 'kit', 'upstreams', 'events'],
  indexer: ['core', 'kit', 'upstreams', 'relay', 'parser', 'events', 'store/port'],
  webhooks: ['core', 'kit', 'events', 'accounts', 'store/port'],
  stream: ['core', 'kit', 'events', 'accounts', 'store/port'],
  contract: ['core'],
  'api/endpoints': ['core', 'kit', 'contract', 'store/port', 'upstreams', 'parser', 'events', 'webhooks'],
  'api/publish': [
    'core',
    'contract',
    'api/endpoints',
    'venues/describe',
    'upstreams/methods',
    'events/kinds',
  ],
  gate: ['core', 'kit', 'accounts', 'contract'],
  'api/mcp': ['core', 'contract', 'gate'],
  'api/pages': ['core', 'kit', 'dashboard'],
  'api/http': [
    'core',
    'kit',
    'contract',
    'api/publish',
    'api/pages',
    'api/mcp',
    'gate',
    'stream',
    'dashboard',
  ],
  sandbox: ['core', 'kit'],
  config: ['core', 'kit', 'venues/plan'],
  // Commands for customers are a program on top of the client, and know the formats and words that they print.
  cli: ['core', 'kit', 'config', 'accounts', 'store/port', 'clients', 'contract/envelopes', 'events/kinds'],
  dashboard: ['core', 'kit', 'accounts', 'webhooks', 'api/publish'],
}
/** The composition root and what starts it may import everything; nothing imports app.ts but main.ts. */
const ROOT_FILES = ['main.ts', 'app.ts']

/** Paths as the import table names them: `core/time.ts` for src/core/time.ts, `sandbox/…` for the simulators. */
const all = globSync(['src/**/*.{ts,tsx}', 'sandbox/**/*.ts'], { cwd: ROOT })
  .map(nameOf)
  // The conformance suites of the storage engines are tests as well.
  .filter((file) => !file.endsWith('.test.ts') && !file.startsWith('store/conformance/'))
/** The dashboard page runs in a browser; besides its own files it imports only these. */
const PAGE_IMPORTS = /^(dashboard\/wire|events\/kinds|core\/.*)\.ts$/
const isPage = (file: string) => file.startsWith('dashboard/web/')
const files = all.filter((file) => !isPage(file))

const imports = new Map(all.map((file) => [file, importsOf(file)]))

function nameOf(path: string): string {
  return path.startsWith('src/') ? relative('src', path) : path
}

function pathOf(file: string): string {
  return file.startsWith('sandbox/') ? file : join('src', file)
}

function readText(file: string): string {
  return readFileSync(join(ROOT, pathOf(file)), 'utf8')
}

function importsOf(file: string): string[] {
  const text = readText(file)
  const found = text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]|import\s+['"](\.[^'"]+)['"]/g)
  return [...found].map((match) => nameOf(normalize(join(dirname(pathOf(file)), match[1] ?? match[2] ?? ''))))
}

const VENUE_FOLDERS = globSync(['src/venues/*/describe.ts', 'src/venues/binance/wire.ts'], { cwd: ROOT }).map(
  (file) => nameOf(dirname(file)),
)
const EXPORTED = /^export (?:async )?(?:function\*?|const|type|interface|class) (\w+)/gm

function folderOf(file: string): string {
  const parts = file.split('/')
  if (parts.length === 1) return 'root'
  return parts[0] === 'api' ? `${parts[0]}/${parts[1]}` : (parts[0] ?? '')
}

function isAllowed(from: string, target: string): boolean {
  const folder = folderOf(from)
  const targetFolder = folderOf(target)
  if (folder === targetFolder) return true
  if (folder === 'app') return targetFolder !== 'root'
  if (folder === 'root') return ROOT_FILES.includes(from)
  const rules = ALLOWED[folder] ?? []
  return rules.some((rule) => {
    const [head, tail] = rule.startsWith('api/') ? [rule, undefined] : rule.split('/')
    if (targetFolder !== head) return false
    if (tail === undefined) return true
    const rest = target.split('/').slice(1)
    if (tail === 'port') return rest.length === 1
    return rest.at(-1) === `${tail}.ts` || (rest[0] === `${tail}.ts` && rest.length === 1)
  })
}

test('every folder imports only what the architecture allows', () => {
  const wrong: string[] = []
  for (const [from, targets] of imports) {
    if (isPage(from)) continue
    for (const target of targets) if (!isAllowed(from, target)) wrong.push(`${from} imports ${target}`)
  }
  assert.deepEqual(wrong, [])
})

test('the page of the dashboard imports only the wire types, core and the event kinds', () => {
  const outside = [...imports]
    .filter(([file]) => isPage(file))
    .flatMap(([file, targets]) =>
      targets
        .filter((target) => !isPage(target) && !PAGE_IMPORTS.test(target))
        .map((target) => `${file} imports ${target}`),
    )
  assert.deepEqual(outside, [])
})

test('every folder has a row in the import table', () => {
  const unknown = files.filter(
    (file) => !['root', 'app'].includes(folderOf(file)) && !(folderOf(file) in ALLOWED),
  )
  assert.deepEqual(unknown, [])
  const strayRoot = files.filter((file) => folderOf(file) === 'root' && !ROOT_FILES.includes(file))
  assert.deepEqual(strayRoot, [])
})

test('nothing but the entry point imports the composition root', () => {
  const importersOf = (isRoot: (target: string) => boolean) =>
    [...imports].filter(([, targets]) => targets.some(isRoot)).map(([file]) => file)
  assert.deepEqual(
    importersOf((target) => target === 'app.ts'),
    ['main.ts'],
  )
  const outside = importersOf((target) => target.startsWith('app/'))
  assert.deepEqual(
    outside.filter((file) => !['app.ts', 'main.ts'].includes(file) && !file.startsWith('app/')),
    [],
  )
})

test('imports form no cycle', () => {
  const state = new Map<string, 'open' | 'done'>()
  const cycles: string[] = []
  const visit = (file: string, trail: string[]) => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
      return
    }
    state.set(file, 'open')
    for (const target of imports.get(file) ?? []) visit(target, [...trail, file])
    state.set(file, 'done')
  }
  for (const file of all) visit(file, [])
  assert.deepEqual(cycles, [])
})

test('the environment is read in config/config.ts only', () => {
  const readers = files.filter((file) => /process\.env\b|from 'node:process'/.test(readText(file)))
  assert.deepEqual(
    readers.filter((file) => file !== 'config/config.ts'),
    [],
  )
})

test('only api/http knows the HTTP framework, and only the engines of the store their libraries', () => {
  const using = (pattern: RegExp) => files.filter((file) => pattern.test(readText(file)))
  assert.deepEqual(
    using(/from 'fastify'/).filter((file) => !file.startsWith('api/http/')),
    [],
  )
  assert.deepEqual(
    using(/from 'node:sqlite'/).filter((file) => !file.startsWith('store/sqlite/')),
    [],
  )
  assert.deepEqual(
    using(/from 'pg'/).filter((file) => !file.startsWith('store/postgres/')),
    [],
  )
})

test('only open-stores.ts names an engine', () => {
  const engineOf = (file: string) => /^store\/(sqlite|postgres)\//.exec(file)?.[1]
  const wrong = [...imports]
    .filter(([file]) => file !== 'store/open-stores.ts')
    .flatMap(([file, targets]) =>
      targets
        .filter((target) => engineOf(target) !== undefined && engineOf(target) !== engineOf(file))
        .map((target) => `${file} imports ${target}`),
    )
  assert.deepEqual(wrong, [])
})

/** All other tests and benches open stores by their address, so that they run on any engine. */
const ENGINE_FILES: Record<string, string> = {
  'src/ingest/shared/refused-rows.test.ts': 'makes the database itself refuse a row',
  'test/e2e/chain-statuses.test.ts': 'breaks a table under the running service',
  'test/e2e/doctor.test.ts': 'gives a file the version of an older release',
  'test/e2e/one-service.test.ts': 'gives a file the version of an older release',
  'test/fakes/stores.ts': 'reads the single charges, which no port lists',
  'test/ingest/audited-store.ts': 'changes rows behind the store, which the self-checks have to find',
  'test/simulation/dump.ts': 'compares every table of two runs',
  'test/simulation/disk.ts': 'fails as the engine does',
  'test/simulation/chain/system.ts': 'gives the event log a name that follows from the seed',
  'test/simulation/readers/judge-credits.ts': 'reads the single charges, which no port lists',
  'test/store/backup.test.ts': 'reads what a backup is made of while it is made',
  'test/store/backup-kill.test.ts': 'adds something large',
  'test/store/lost-files.test.ts': 'leaves an empty database, and one of another program',
  'test/e2e/restored-service.test.ts': 'reads every table at the instant of a backup',
  'test/store/upgrade.test.ts': 'compares schemas, also with a migration left out',
  'test/store/table-hashes.ts': 'compares every table of two folders',
  'bench/figures/store.ts': 'measures against a bare insert loop',
  'bench/figures/books.ts': 'measures the pages of a file',
  'bench/figures/predictions.ts': 'measures the tables of a file',
  'bench/figures/chain-index.ts': 'counts the rows of a file',
}

test('tests and benches open stores by their address; those that need the engine say why', () => {
  const engine = /^(?:import .*|\} )from '(node:sqlite|[^']*\/sqlite\/[^']+)'/m
  const found = globSync(['src/**/*.test.ts', 'src/store/conformance/*.ts', '{test,bench}/**/*.ts'], {
    cwd: ROOT,
  })
    .filter((file) => !file.startsWith('src/store/sqlite/'))
    .filter((file) => engine.test(readFileSync(join(ROOT, file), 'utf8')))
  assert.deepEqual(found.sort(), Object.keys(ENGINE_FILES).sort())
})

const documents = globSync(['*.md', 'docs/**/*.md', 'sandbox/*.md'], { cwd: ROOT }).filter(
  (file) => file !== 'CHANGELOG.md',
)

test('every path that the documents mention exists', () => {
  assert.ok(documents.length > 10)
  const missing = documents.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8')
    const named = [
      ...text.matchAll(/(?<![\w./-])(?:src|test|bench|sandbox|docs|bin|build)\/[\w./*{},-]*[\w*}/]/g),
    ]
    // Links of the guide that begin with / point to the running service; another test follows them.
    const linked = [...text.matchAll(/\]\((?!https?:|#|mailto:|\/)([^)#\s]+)[^)]*\)/g)]
    return [
      ...named.map(([path]) => path),
      ...linked.map(([, path = '']) => normalize(join(dirname(document), path))),
    ]
      .filter((path) => globSync(path.replace(/\/$/, ''), { cwd: ROOT }).length === 0)
      .map((path) => `${document}: ${path}`)
  })
  assert.deepEqual(missing, [])
})

test('every file and every name in camel case that the documents mention exists', () => {
  const code = globSync(['{src,sandbox,test,bench,bin,deploy}/**/*.{ts,tsx,mjs}'], { cwd: ROOT })
  const fileNames = new Set(code.map((file) => basename(file)))
  const text = code.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  const words = new Set(text.match(/\w+/g))
  const exists = (span: string) => {
    if (/^[\w./-]+\.(ts|tsx|mjs)$/.test(span)) return fileNames.has(basename(span))
    const isName = /^\w+(\.\w+)*(\(\))?$/.test(span) && /[a-z][A-Z]/.test(span)
    return !isName || span.match(/\w+/g)?.every((word) => words.has(word)) === true
  }
  const missing = documents.flatMap((document) =>
    [...readFileSync(join(ROOT, document), 'utf8').matchAll(/`([^`\n]+)`/g)]
      .map(([, span = '']) => span)
      .filter((span) => !exists(span))
      .map((span) => `${document}: ${span}`),
  )
  assert.deepEqual(missing, [])
})

test('ingest names no venue: what differs between venues is in their plans and descriptions', () => {
  const venues = [
    ...globSync('src/venues/*/describe.ts', { cwd: ROOT }).map((file) => basename(dirname(file))),
    ...SOURCES,
  ].flatMap((name) => [name, name.split(/[-_]/)[0] ?? name])
  assert.ok(venues.includes('kalshi') && venues.includes('binance') && venues.includes('perpdex'))
  const names = new RegExp([...new Set(venues)].filter((name) => name !== 'oracle').join('|'), 'i')
  assert.deepEqual(
    files.filter((file) => file.startsWith('ingest/') && names.test(readText(file))),
    [],
  )
})

test('the pipelines of ingest know what they share, and not each other', () => {
  const partOf = (file: string) => /^ingest\/(exchange|prediction|oracle|shared)\//.exec(file)?.[1]
  const wrong = [...imports].flatMap(([from, targets]) =>
    targets
      .filter((target) => {
        const [own, other] = [partOf(from), partOf(target)]
        return own !== undefined && other !== undefined && other !== own && other !== 'shared'
      })
      .map((target) => `${from} imports ${target}`),
  )
  assert.deepEqual(wrong, [])
})

test('the architecture page is short, and no file contains merge conflict markers', () => {
  const root = join(import.meta.dirname, '..')
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  assert.ok(page.trimEnd().split('\n').length <= 80)
  const texts = globSync(['*.{md,json}', '{src,sandbox,test,bench,docs}/**/*.{ts,tsx,css,md}'], { cwd: root })
  assert.ok(texts.length > 500)
  assert.deepEqual(
    texts.filter((file) => /^(<{7}|>{7}) /m.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})

/**
 * Venue folders mirror each other (`askTrades`, `mapTrade`), and so do the storage engines (`migrate`). The sandbox
 * shares no code with the service.
 */
test('no exported name of the service means two things', () => {
  const places = new Map<string, Set<string>>()
  for (const file of files) {
    if (file.startsWith('sandbox/') || file.startsWith('store/conformance/')) continue
    const isVenue = VENUE_FOLDERS.some((folder) => file.startsWith(`${folder}/`))
    const place = isVenue ? 'a venue' : file
    for (const [, name = ''] of readText(file).matchAll(EXPORTED)) {
      places.set(name, (places.get(name) ?? new Set()).add(place))
    }
  }
  const inEngine = (engine: string, found: Set<string>) =>
    [...found].filter((place) => place.startsWith(`store/${engine}/`)).length
  const meanings = (found: Set<string>) => {
    const engines = ['sqlite', 'postgres'].map((engine) => inEngine(engine, found))
    const others = found.size - engines.reduce((sum, count) => sum + count, 0)
    return others + Math.max(...engines)
  }
  const twice = [...places]
    .filter(([, found]) => meanings(found) > 1)
    .map(([name, found]) => [name, ...found])
  assert.deepEqual(twice, [])
})
