/** What a user sees who has only cloned the repository. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

interface Locked {
  packages: Record<string, { hasInstallScript?: boolean; engines?: { node?: string } }>
}

/** A checkout builds the dashboard itself. */
const PAGE_PACKAGES = ['lightweight-charts', 'preact', 'vite']

/** A copy of what is needed to start, without its packages. */
function withCopy(run: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-clone-'))
  try {
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
    cpSync(join(ROOT, 'src/main.ts'), join(folder, 'src/main.ts'))
    run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** As if everything were installed. */
function fakePackages(folder: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(join(folder, 'node_modules', name), { recursive: true })
    writeFileSync(join(folder, 'node_modules', name, 'package.json'), '{}')
  }
}

test('npm start without node_modules says to run npm ci, in one sentence', () =>
  withCopy((folder) => {
    const { start } = read('package.json').scripts as { start: string }
    const started = () => spawnSync('sh', ['-c', start], { cwd: folder, encoding: 'utf8' })
    const { status, stdout, stderr: sentence } = started()
    assert.equal(status, 1)
    assert.equal(stdout, '')
    assert.equal(sentence, 'Packages of Tapeline are not installed. Run this first: npm ci\n')
    const { dependencies } = read('package.json') as { dependencies: Record<string, string> }
    const [missing, ...others] = [...Object.keys(dependencies), ...PAGE_PACKAGES]
    fakePackages(folder, others)
    const { stderr } = started()
    assert.equal(stderr, `Packages of Tapeline are not installed (${missing}). Run this first: npm ci\n`)
  }))

test('an older Node reads which one is needed and where it comes from', {
  skip: oldNode() === undefined,
}, () => {
  const { status, stderr } = spawnSync(oldNode() ?? '', [join(ROOT, 'bin/start.mjs'), 'config'], {
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.match(
    stderr,
    /^Tapeline needs Node 26 or newer, and this is Node \d+\.\d+\.\d+\. Its own is installed/,
  )
  assert.equal(stderr.split('\n').length, 2)
})

test('npm ci on Node 20 has nothing to warn about: no package asks for a newer one', () => {
  const { packages } = read('package-lock.json') as Locked
  const tooNew = Object.entries(packages)
    .map(([name, { engines }]) => `${name} ${engines?.node ?? '*'}`)
    .filter((line) => !allowsNode20(line.slice(line.indexOf(' ') + 1)))
  assert.deepEqual(tooNew, [])
})

test('no package runs code while it is installed', () => {
  const { packages } = read('package-lock.json') as Locked
  const running = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
  assert.deepEqual(
    running.map(([name]) => name),
    [],
  )
  assert.match(readFileSync(join(ROOT, '.npmrc'), 'utf8'), /^strict-allow-scripts=true$/m)
})

test('scripts run on the Node among the packages where npm leaves no link to it, as npm 9 does', () =>
  withCopy((folder) => {
    const packages = join(folder, 'node_modules')
    const { scripts } = read('package.json') as { scripts: { prepare: string } }
    const linked = () => {
      const { status, stderr } = spawnSync('sh', ['-c', scripts.prepare], { cwd: folder, encoding: 'utf8' })
      assert.deepEqual([status, stderr], [0, ''])
      const node = join(packages, '.bin/node')
      return existsSync(node) ? realpathSync(node) : undefined
    }
    assert.equal(linked(), undefined)
    mkdirSync(join(packages, '.bin'), { recursive: true })
    assert.equal(linked(), undefined)
    mkdirSync(join(packages, 'node-of-this-platform/bin'), { recursive: true })
    symlinkSync(process.execPath, join(packages, 'node-of-this-platform/bin/node'))
    assert.equal(linked(), realpathSync(process.execPath))
    rmSync(join(packages, '.bin/node'))
    symlinkSync('/bin/sh', join(packages, '.bin/node'))
    assert.equal(linked(), realpathSync('/bin/sh'))
  }))

/** The newest release of Node 20. Ranges in the lock file are `>=x`, `^x` and lists of them. */
function allowsNode20(range: string): boolean {
  const newest = [20, 20, 2]
  return range.split('||').some((part) => {
    const [, sign = '', text = ''] = /^\s*(>=|\^|)\s*v?([\d.x*]+)\s*$/.exec(part) ?? []
    if (part.trim() === '*') return true
    const wanted = text.split('.').map((each) => (/^\d+$/.test(each) ? Number(each) : 0))
    const [major = 0] = wanted
    if (sign === '^' && major !== newest[0]) return false
    const at = newest.findIndex((value, index) => value !== (wanted[index] ?? 0))
    return text !== '' && (at === -1 || (newest[at] ?? 0) > (wanted[at] ?? 0))
  })
}

function oldNode(): string | undefined {
  const found = ['/usr/bin/node', '/usr/local/bin/node'].find(
    (path) =>
      existsSync(path) &&
      Number.parseInt(spawnSync(path, ['-p', 'process.versions.node']).stdout.toString(), 10) < 26,
  )
  return found
}

test('types are stripped once: threads load what was stripped until a source changes', () =>
  withCopy((folder) => {
    const { dependencies } = read('package.json') as { dependencies: Record<string, string> }
    fakePackages(folder, [...Object.keys(dependencies), ...PAGE_PACKAGES])
    mkdirSync(join(folder, 'node_modules/.bin'))
    symlinkSync(process.execPath, join(folder, 'node_modules/.bin/node'))
    const sources = (word: string) => {
      writeFileSync(
        join(folder, 'src/main.ts'),
        "import { Worker } from 'node:worker_threads'\nnew Worker(new URL('./thread.ts', import.meta.url))\n",
      )
      writeFileSync(
        join(folder, 'src/thread.ts'),
        `const word: string = '${word}'\nprocess.stdout.write(word)\n`,
      )
    }
    const start = () => {
      const { stdout, stderr } = spawnSync('sh', ['bin/tapeline', 'serve'], { cwd: folder, encoding: 'utf8' })
      return stdout + stderr
    }
    sources('first')
    assert.equal(start(), 'first')
    const [stripped = ''] = globSync('build/stripped/*/src/thread.ts', { cwd: folder })
    writeFileSync(join(folder, stripped), "process.stdout.write('stripped')")
    assert.equal(start(), 'stripped')
    sources('second')
    assert.equal(start(), 'second')
  }))
