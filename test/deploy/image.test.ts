/**
 * Must hold: the image has no shell, runs as a user without rights on a read-only root and keeps its data in one
 * volume. There is no container engine here: the long size runs the script that makes the image in a fresh Debian, and
 * then what the Dockerfile says in the root that it made.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { loadConfig } from '../../src/config/config.ts'
import { ask } from '../fakes/client.ts'
import { until } from '../until.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILE = join(ROOT, 'deploy/Dockerfile')
const run = promisify(execFile)

interface Instruction {
  readonly name: string
  readonly text: string
}

/** Of each stage; the first instruction is its FROM. */
const stages = readFileSync(FILE, 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split(/^(?=FROM )/m)
  .filter((stage) => stage.trim() !== '')
  .map((stage) =>
    [...stage.matchAll(/^([A-Z]+) +(.*)$/gm)].map(
      ([, name = '', text = '']): Instruction => ({ name, text }),
    ),
  )
const final = stages.at(-1) ?? []
const textOf = (name: string) => final.find((each) => each.name === name)?.text ?? ''
const wordsOf = (name: string) => JSON.parse(textOf(name).replace(/^.*?CMD /, '')) as string[]
const environment = Object.fromEntries(
  [...textOf('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
)

test('the last stage is built from nothing, as a user without rights, with one volume and a health check', () => {
  assert.equal(textOf('FROM'), 'scratch')
  assert.deepEqual(
    final.filter(({ name }) => name === 'RUN'),
    [],
  )
  assert.match(textOf('USER'), /^[1-9]\d+:[1-9]\d+$/)
  assert.equal(textOf('VOLUME'), environment.TAPELINE_DATA)
  assert.deepEqual(wordsOf('HEALTHCHECK'), [...wordsOf('ENTRYPOINT'), 'health'])
  const { SQLITE_TMPDIR, MALLOC_ARENA_MAX, ...settings } = environment
  assert.equal(SQLITE_TMPDIR, environment.TAPELINE_DATA)
  assert.ok(Number(MALLOC_ARENA_MAX) > 0)
  assert.deepEqual(loadConfig(settings).warnings, [])
  const steps = stages.flat().filter(({ name }) => name === 'RUN')
  assert.deepEqual(
    steps.map(({ text }) => text),
    ['sh /checkout/deploy/build.sh /checkout /image'],
  )
})

/** Installed by .ci/run; a wheel of PyPI contains it. */
const hadolint = [...(process.env.PATH ?? '').split(delimiter), cacheOfPython()]
  .map((folder) => join(folder, 'hadolint'))
  .find((path) => existsSync(path))

function cacheOfPython(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tapeline/python/bin')
}

test('hadolint has nothing to say about the Dockerfile', {
  skip: hadolint === undefined ? 'hadolint is not installed' : false,
}, () => {
  const { status, stdout, stderr } = spawnSync(hadolint ?? '', [FILE], { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
})

const DEBOOTSTRAP_WITHIN_MS = 15 * 60_000
const BUILD_WITHIN_MS = 20 * 60_000
const START_WITHIN_MS = 120_000

function reasonToSkip(): string | false {
  if (process.env.TAPELINE_SOAK === undefined) return 'takes minutes (npm run soak)'
  if (process.getuid?.() !== 0) return 'only root can make a root file system'
  if (spawnSync('debootstrap', ['--version']).status !== 0) return 'debootstrap is not installed'
  if (spawnSync('unshare', ['-m', 'true']).status !== 0) return 'this machine allows no mounts'
  return false
}

/** Becomes the command in that root; the mounts end with it. */
function inRoot(root: string, mounts: readonly string[], command: readonly string[], user = '0:0') {
  const script = [...mounts, `exec chroot --userspec=${user} ${root} "$@"`].join('\n')
  return ['-m', 'sh', '-euc', script, 'sh', ...command]
}

test('the script makes the image in a fresh Debian, and the image serves from a read-only root', {
  skip: reasonToSkip(),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-image-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [, suite = ''] = /^debian:(\w+)-slim AS/.exec(stages[0]?.[0]?.text ?? '') ?? []
  const debian = join(folder, 'debian')
  await run('debootstrap', ['--variant=minbase', suite, debian], {
    timeout: DEBOOTSTRAP_WITHIN_MS,
    maxBuffer: 2 ** 26,
  })
  copyCheckout(join(debian, 'checkout'))
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...trustOf(debian) }
  const [, ...build] = (stages[0]?.find(({ name }) => name === 'RUN')?.text ?? '').split(' ')
  const mounts = [`mount -t proc proc ${debian}/proc`, `mount --rbind /dev ${debian}/dev`]
  const options = { env, timeout: BUILD_WITHIN_MS, maxBuffer: 2 ** 26 }
  const { stdout } = await run('unshare', inRoot(debian, mounts, ['sh', ...build]), options)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.match(stdout, new RegExp(`^${version}$`, 'm'))

  const image = join(debian, 'image')
  const programs = globSync('{bin,sbin,usr/bin,usr/sbin,usr/local/bin}/*', { cwd: image })
  assert.deepEqual(programs, ['bin/node'])
  const user = textOf('USER')
  const writable = execFileSync('find', [
    image,
    '-xdev',
    '!',
    '-type',
    'l',
    '(',
    '-perm',
    '/6000',
    '-o',
    '-perm',
    '-0002',
    '-o',
    '!',
    '-user',
    '0',
    ')',
  ])
  const names = writable.toString().trim().split('\n').sort()
  assert.deepEqual(names, [join(image, 'data'), join(image, 'tmp')])

  const volume = join(folder, 'volume')
  mkdirSync(volume, { mode: 0o700 })
  const [uid = 0, gid = 0] = user.split(':').map(Number)
  chownSync(volume, uid, gid)
  const readOnly = [
    `mkdir -p ${image}/proc ${image}/dev`,
    `mount --bind ${image} ${image}`,
    `mount --bind ${volume} ${image}/data`,
    `mount -t proc proc ${image}/proc`,
    `mount --rbind /dev ${image}/dev`,
    `mount -o remount,bind,ro ${image}`,
  ]
  const inside = (command: readonly string[]) => inRoot(image, readOnly, command, user)
  const settings = { ...environment, TAPELINE_PORT: '0', TAPELINE_FIRST_FILL_DAYS: '1' }
  const child = spawn('unshare', inside([...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')]), { env: settings })
  t.after(() => child.kill('SIGKILL'))
  const printed = await printedBy(child)
  const [, url = ''] = /^Tapeline \S+ listens on (\S+)$/m.exec(printed) ?? []
  const [key = ''] = /svc_test_\w{38}/.exec(printed) ?? []
  assert.equal((await ask(`${url}/v1/limits`, { key })).status, 200)
  assert.equal((await ask(`${url}/`)).status, 200)
  await until('readiness', async () => (await ask(`${url}/ready`)).status === 200, START_WITHIN_MS)
  await run('unshare', inside(wordsOf('HEALTHCHECK')), { env: settings })
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  await assert.rejects(run('unshare', inside(wordsOf('HEALTHCHECK')), { env: settings }), { code: 1 })
})

async function printedBy(child: ChildProcess): Promise<string> {
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      printed += chunk
    })
  await until('the start', () => child.exitCode !== null || /curl -H/.test(printed), START_WITHIN_MS)
  assert.equal(child.exitCode, null, printed)
  return printed
}

/** What git knows and what is new, as `docker build` would send it. */
function copyCheckout(target: string): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  })
  for (const file of files.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(ROOT, file), join(target, file), { verbatimSymlinks: true })
  }
}

/** Name servers, and certificates that only this machine trusts. */
function trustOf(root: string): Record<string, string> {
  cpSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'), { dereference: true })
  const given = process.env.NODE_EXTRA_CA_CERTS
  if (given === undefined) return {}
  cpSync(given, join(root, 'etc/extra-certificates.pem'), { dereference: true })
  return { NODE_EXTRA_CA_CERTS: '/etc/extra-certificates.pem', CURL_CA_BUNDLE: '/etc/extra-certificates.pem' }
}
