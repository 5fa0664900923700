/**
 * Must hold: the package that `npm pack` makes serves from an empty folder with an empty home, as the README says, and
 * writes nothing into its installation. The long size packs and installs it with npm and runs the sandbox; otherwise
 * its files are put where npm would put them.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ask } from '../fakes/client.ts'
import { until } from '../until.ts'

const ROOT = join(import.meta.dirname, '../..')
const SOAK = process.env.TAPELINE_SOAK !== undefined
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'tapeline-package-'))
const packages = join(folder, 'app', 'node_modules')
const installed = join(packages, 'tapeline')
/** Nothing of the machine but its programs. */
const env = { HOME: join(folder, 'home'), PATH: '/usr/local/bin:/usr/bin:/bin' }
/** Until npm has read 70 packages from its cache or from far away. */
const INSTALL_WITHIN_MS = 300_000
const START_WITHIN_MS = 120_000
let unreachable: string | undefined

before(async () => {
  mkdirSync(env.HOME)
  mkdirSync(packages, { recursive: true })
  if (SOAK) await packAndInstall()
  else await placeFiles()
})
after(() => rmSync(folder, { recursive: true, force: true }))

async function packAndInstall(): Promise<void> {
  const { NODE_OPTIONS: _, ...own } = process.env
  const options = { timeout: INSTALL_WITHIN_MS, maxBuffer: 2 ** 26 }
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { ...options, env: own, cwd: ROOT })
  const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const cache = (await run('npm', ['config', 'get', 'cache'], { env: own, cwd: ROOT })).stdout.trim()
  const args = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--cache', cache, `../${archive}`]
  try {
    await run('npm', args, { ...options, env, cwd: join(folder, 'app') })
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    if (!/EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(stderr)) throw error
    unreachable = 'the registry of npm is unreachable'
  }
}

/** As npm does: what the package lists in `files`, its dependencies beside it, and those only. */
async function placeFiles(): Promise<void> {
  await run(process.execPath, [join(ROOT, 'deploy/package/emit.ts'), join(installed, 'dist')])
  for (const part of ['bin', 'package.json'])
    cpSync(join(ROOT, part), join(installed, part), { recursive: true })
  const { packages: locked } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const used = Object.entries(locked).flatMap(([path, { dev }]) => {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? []
    return name === undefined || dev === true ? [] : [name]
  })
  for (const name of used.filter((each) =>
    statSync(join(ROOT, 'node_modules', each), { throwIfNoEntry: false }),
  )) {
    mkdirSync(join(packages, name, '..'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  }
  mkdirSync(join(packages, '.bin'))
  symlinkSync(process.execPath, join(packages, '.bin', 'node'))
  symlinkSync('../tapeline/bin/tapeline', join(packages, '.bin', 'tapeline'))
}

function filesOf(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => `${file} ${statSync(file).mtimeMs}`)
    .sort()
}

test('the installed package serves as the README says, and changes nothing where it is installed', async (t) => {
  if (unreachable !== undefined) return t.skip(unreachable)
  const before = filesOf(installed)
  assert.ok(before.length > 500)
  assert.deepEqual(
    before.filter((file) => /\.ts \d|\.test\./.test(file)),
    [],
  )
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.equal(name, 'tapeline')
  const [command, ...args] = SOAK ? ['npx', 'tapeline'] : [join(packages, '.bin/tapeline')]
  const child = spawn(command ?? '', [...args, 'serve'], {
    cwd: join(folder, 'app'),
    env: { ...env, TAPELINE_PORT: '0', TAPELINE_SANDBOX: SOAK ? 'on' : 'off', TAPELINE_FIRST_FILL_DAYS: '1' },
    // A group of its own: npx starts a shell.
    detached: true,
  })
  const stop = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, 'SIGTERM')
  t.after(stop)
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += chunk
    })
  await until('the start', () => child.exitCode !== null || /curl -H/.test(printed), START_WITHIN_MS)
  assert.equal(child.exitCode, null, printed)
  assert.match(printed, new RegExp(`Tapeline ${version} listens on `))
  const [, url = ''] = /^Tapeline \S+ listens on (\S+)$/m.exec(printed) ?? []
  const [key = ''] = /svc_test_\w{38}/.exec(printed) ?? []

  const lines = readmeCalls()
  assert.equal(lines.length, 4)
  for (const { path, body } of lines) {
    const isNode = path === '/rpc'
    if (isNode && !SOAK) continue
    const call = () =>
      ask(`${url}${path}`, {
        key,
        ...(body === undefined
          ? {}
          : { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }),
      })
    if (SOAK && path.includes('limit=3'))
      await until(
        'the first candles',
        async () => {
          await wait(500)
          return ((await call()).json.data as unknown[]).length === 3
        },
        START_WITHIN_MS,
      )
    const { status, text } = await call()
    assert.equal(status, 200, `${path}: ${text}`)
    if (isNode) assert.match(text, /"result"/)
  }
  for (const path of ['/', '/docs', '/guide', '/guide/guide.css', '/openapi.json']) {
    const { status, text } = await ask(`${url}${path}`)
    assert.equal(status, 200, path)
    assert.ok(text.length > 200, path)
  }
  // Customers' commands run on the client, which comes with it.
  const customer = { ...env, TAPELINE_URL: url, TAPELINE_KEY: key }
  const { stdout } = await run(join(packages, '.bin/tapeline'), ['get', 'limits'], { env: customer })
  assert.equal(JSON.parse(stdout).plan, 'business')
  const ended = once(child, 'exit')
  stop()
  await ended
  assert.deepEqual(filesOf(installed), before)
  assert.ok(!/"level":[56]0/.test(printed), printed)
})

test('every page of docs/ that the program names is in the package', (t) => {
  if (unreachable !== undefined) return t.skip(unreachable)
  const dist = join(installed, 'dist')
  const named = globSync('src/**/*.js', { cwd: dist }).flatMap((file) => [
    ...readFileSync(join(dist, file), 'utf8').matchAll(/\bdocs\/[\w-]+\/[\w-]+\.md\b/g),
  ])
  assert.ok(named.length > 0)
  for (const [page] of named) assert.ok(existsSync(join(dist, page)), page)
})

interface Call {
  readonly path: string
  readonly body: string | undefined
}

/** The calls with curl, as printed. */
function readmeCalls(): Call[] {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8').replaceAll('\\\n', ' ')
  return [...text.matchAll(/^curl (.*?)"?http:\/\/127\.0\.0\.1:8080([^"\s]*)"?$/gm)].map(
    ([, options = '', path = '']) => ({ path, body: /-d '([^']*)'/.exec(options)?.[1] }),
  )
}
