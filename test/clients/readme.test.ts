/** The clients' READMEs and examples, and the guide, work as printed, with a running sandbox. */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { CUSTOMER_PAGES } from '../../src/api/pages/guide.ts'
import { ask } from '../fakes/client.ts'
import { testAddress } from '../fakes/event-writer.ts'
import { type SandboxService, useSandboxService } from '../fakes/sandbox-service.ts'
import { cliJson } from '../fakes/service.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { FULL_PYTHON, SKIP_FRAMES } from './pythons.ts'
import { OTHER_RUNTIMES } from './runtimes.ts'
import { signedDeliveries } from './signed-deliveries.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENTS = join(ROOT, 'clients')
const BIN = join(ROOT, 'node_modules/.bin')
const run = promisify(execFile)
/** Installed with npm and pip there; elsewhere where those would put it. */
const SOAK = process.env.TAPELINE_SOAK !== undefined

const sandbox = useSandboxService()
const folder = mkdtempSync(join(tmpdir(), 'tapeline-readme-'))
let used: SandboxService
let env: Record<string, string | undefined>

before(async () => {
  used = await sandbox()
  const { NODE_OPTIONS: _, ...rest } = process.env
  env = {
    ...rest,
    TAPELINE_URL: used.service.url,
    TAPELINE_KEY: used.key,
    PYTHONPATH: join(folder, 'site'),
    // For `tapeline`, which stores what it is told by `login`.
    PATH: `${join(ROOT, 'bin')}:${rest.PATH}`,
    XDG_CONFIG_HOME: join(folder, 'config'),
  }
  const isNodeUp = async () =>
    (await ask(`${used.service.url}/v1/fees/estimate`, { key: used.key })).status === 200
  await until('the simulated nodes', isNodeUp, LIMIT_MS, 100)
  for (const path of [
    '/v1/candles?symbol=BTC&source=cexa&interval=1h&limit=1',
    '/v1/markets?symbol=BTC&source=predmkt_a&market_type=15m&status=open&limit=1',
    '/v1/trades?symbol=BTC&source=perpdex&limit=1',
  ]) {
    const hasRow = async () => {
      const { json } = await ask(used.service.url + path, { key: used.key })
      return (json.data as unknown[] | undefined)?.length === 1
    }
    await until(`the first row of ${path}`, hasRow, LIMIT_MS, 100)
  }
})
after(() => rmSync(folder, { recursive: true, force: true }))

const GUIDE = CUSTOMER_PAGES.map((name) => {
  const file = join(ROOT, 'docs', `${name}.md`)
  return { file, text: readFileSync(file, 'utf8') }
})

interface Block {
  readonly file: string
  readonly text: string
}

/** Only ends what hangs. */
const LIMIT_MS = 240_000
const MARK = '=== next ==='
const NODE_RUNNER = `for (const file of process.argv.slice(2)) { console.log('${MARK}'); await import(file) }`
const PYTHON_RUNNER = `import runpy, sys
for file in sys.argv[1:]:
    print("${MARK}", flush=True)
    runpy.run_path(file, run_name="__main__")
`

/** The blocks of a language in the README of its client and in the guide. */
function writeBlocks(readme: string, language: string, place: string): Block[] {
  const own = blocksOf(readme, language)
  assert.ok(own.length >= 5, 'the README has examples')
  const all = new Set([...own, ...GUIDE.flatMap(({ text }) => blocksOf(text, language))])
  return [...all].map((text, n) => {
    const file = join(place, `block-${n}.${language === 'python' ? 'py' : language}`)
    writeFileSync(file, text)
    return { file, text }
  })
}

function blocksOf(page: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm')
  return [...page.matchAll(pattern)].map((match) => match[1] ?? '')
}

/** One that receives webhooks does not end by itself. */
const isReceiver = (block: string) => block.includes('WEBHOOK_SECRET')

/** One after the other in one process: most of what a short program costs is its start. */
async function runBlocks(
  [program = '', ...options]: readonly string[],
  runner: string,
  blocks: readonly Block[],
  cwd = folder,
): Promise<void> {
  const ending = blocks.filter(({ text }) => !isReceiver(text))
  const files = ending.map(({ file }) => file)
  const [{ stdout }] = await Promise.all([
    run(program, [...options, runner, ...files], { env, cwd, timeout: LIMIT_MS }),
    ...blocks
      .filter(({ text }) => isReceiver(text))
      .map(({ file }) => runReceiver(program, ...options, file)),
  ])
  const printed = stdout.split(MARK).slice(1)
  assert.equal(printed.length, ending.length)
  for (const [n, text] of printed.entries()) {
    // A line such as `no answer` stands for what must not happen here.
    assert.doesNotMatch(text, /no answer|undefined/)
    if (!ending[n]?.text.includes('gaps'))
      assert.notEqual(text.trim(), '', `${ending[n]?.file} prints something`)
  }
}

async function runReceiver(command: string, ...args: string[]): Promise<void> {
  const port = await freePort()
  const signed = signedDeliveries(Math.floor(Date.now() / 1_000))
  const child = spawn(command, args, {
    env: { ...env, PORT: String(port), WEBHOOK_SECRET: signed.current },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  try {
    const post = (body: string) =>
      ask(`http://127.0.0.1:${port}/`, { method: 'POST', headers: signed.headers, body }).catch(
        () => undefined,
      )
    await until('the receiver', async () => (await post(signed.body))?.status === 204, LIMIT_MS)
    assert.equal((await post(`${signed.body} `))?.status, 400)
    await until('the event', () => printed.includes('block_added'), LIMIT_MS)
  } finally {
    child.kill()
  }
}

/** Where the TypeScript client is installed. */
const project = join(folder, 'project')
const runner = join(project, 'run.mjs')
let blocks: Block[]
describe('at the same time', { concurrency: true }, () => {
  test('every request of the guide that is written for the shell is answered', async () => {
    let answered = 0
    for (const { file, text } of GUIDE) {
      for (const block of blocksOf(text, 'sh')) {
        const { stdout } = await run('sh', ['-c', `set -e; ${block}`], { env, cwd: folder })
        if (!/^(curl|tapeline) /m.test(block)) continue
        answered++
        assert.notEqual(stdout.trim(), '', block)
        assert.equal(/"error":/.test(stdout), file.endsWith('/errors.md'), `${block}\n${stdout}`)
      }
    }
    assert.ok(answered >= 10)
  })

  test('what the guide shows as JSON is JSON', () => {
    const shown = GUIDE.flatMap(({ text }) => blocksOf(text, 'json'))
    assert.ok(shown.length > 0)
    for (const block of shown) JSON.parse(block)
  })

  const go = spawnSync('gofmt', ['-h']).error === undefined
  test('Go: the receiver of the guide', { skip: go ? false : 'go is not installed' }, async () => {
    const blocks = GUIDE.flatMap(({ text }) => blocksOf(text, 'go'))
    assert.equal(blocks.length, 1)
    const file = join(folder, 'receiver.go')
    writeFileSync(file, blocks[0] ?? '')
    const { stdout } = await run('gofmt', ['-l', file])
    assert.equal(stdout, '', 'it is formatted')
    // The compiler takes longer than all else here.
    if (!SOAK) return
    const binary = join(folder, 'receiver')
    await run('go', ['build', '-o', binary, file], { cwd: folder })
    await runReceiver(binary)
  })

  describe('TypeScript', () => {
    before(async () => {
      const repository = join(folder, 'tapeline/clients/typescript')
      const readme = readFileSync(join(CLIENTS, 'typescript/README.md'), 'utf8')
      mkdirSync(repository, { recursive: true })
      mkdirSync(project)
      for (const file of ['package.json', 'README.md'])
        cpSync(join(CLIENTS, 'typescript', file), join(repository, file))
      // `npm run clients:build`, to another place: the tree stays as it is.
      await run(join(BIN, 'tsc'), ['-p', join(CLIENTS, 'typescript'), '--outDir', join(repository, 'dist')])
      writeFileSync(
        join(project, 'package.json'),
        JSON.stringify({ name: 'project', private: true, type: 'module' }),
      )
      const [, install = ''] = /^npm install (\S+)$/m.exec(readme) ?? []
      if (SOAK)
        await run('npm', ['install', install, '--offline', '--no-fund', '--no-audit'], { cwd: project, env })
      else {
        // What npm does with a folder.
        mkdirSync(join(project, 'node_modules/@tapeline'), { recursive: true })
        symlinkSync(join(project, install), join(project, 'node_modules/@tapeline/client'))
      }
      blocks = writeBlocks(readme, 'ts', project)
      writeFileSync(runner, NODE_RUNNER)
    })

    test('every block passes the compiler', async () => {
      const compilerOptions = {
        module: 'nodenext',
        target: 'esnext',
        strict: true,
        noEmit: true,
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
      }
      const config = { compilerOptions, files: blocks.map(({ file }) => file) }
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config))
      const checked = run(join(BIN, 'tsc'), ['-p', project]).catch((error: { stdout: string }) => error)
      assert.equal((await checked).stdout, '')
    })

    test("every block runs on the project's Node", () =>
      runBlocks([process.execPath], runner, blocks, project))
  })

  describe('Python', { skip: SKIP_FRAMES }, () => {
    before(async () => {
      const site = join(folder, 'site')
      if (!SOAK) {
        cpSync(join(CLIENTS, 'python/tapeline'), join(site, 'tapeline'), { recursive: true })
        return
      }
      // pip builds in the folder that it is given.
      cpSync(join(CLIENTS, 'python'), join(folder, 'python'), { recursive: true })
      const args = ['install', '-q', '--no-index', '--no-deps', '--no-build-isolation', '--target', site]
      await run(FULL_PYTHON, ['-m', 'pip', ...args, join(folder, 'python')])
    })

    test('every block of the README runs', async () => {
      assert.ok(existsSync(join(folder, 'site/tapeline/py.typed')))
      const readme = readFileSync(join(CLIENTS, 'python/README.md'), 'utf8')
      const runner = join(folder, 'run.py')
      writeFileSync(runner, PYTHON_RUNNER)
      await runBlocks([FULL_PYTHON], runner, writeBlocks(readme, 'python', folder))
    })

    test('example: candles with gaps shaded', async () => {
      const file = join(folder, 'candles.svg')
      const { stdout } = await run(
        FULL_PYTHON,
        [join(CLIENTS, 'python/examples/candles_with_gaps.py'), 'BTC', file],
        { env },
      )
      const [, candles, gaps] = /^(\d+) candles, (\d+) gaps/.exec(stdout) ?? []
      const drawn = readFileSync(file, 'utf8')
      assert.equal(drawn.split('<line').length - 1, Number(candles))
      assert.equal(drawn.split('class="gap"').length - 1, Number(gaps))
      assert.ok(Number(candles) > 0, stdout)
    })

    test('example: an address is watched, and again from where it stopped', async () => {
      const address = testAddress(4_711)
      const watch = (count: number) => {
        const child = spawn(
          FULL_PYTHON,
          [join(CLIENTS, 'python/examples/watch_address.py'), address, String(count)],
          {
            env,
            cwd: folder,
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        )
        let text = ''
        child.stdout.on('data', (chunk) => {
          text += chunk
        })
        const ended = new Promise((resolve) => child.once('close', resolve))
        return { text: () => text, ended, stop: () => child.kill() }
      }
      const pay = (amount: string) =>
        cliJson(used.dataInside, ['sandbox', 'pay', '--to', address, '--amount', amount])
      // Stopped before anything has happened.
      const idle = watch(2)
      const position = join(folder, `.watch-${address.split(':').at(-1)?.slice(0, 16)}`)
      await until('a stored position', () => existsSync(position), LIMIT_MS)
      idle.stop()
      await idle.ended
      assert.match(idle.text(), /^watching [^\n]*\n$/)
      await pay('12.5')
      const first = watch(2)
      await first.ended
      assert.match(first.text(), /confirmed {2}\+12\.50000000/)
      await pay('3')
      // The chain may be reorganised meanwhile: then the first payment is taken back, and confirmed again.
      const second = watch(20)
      const times = (what: RegExp) => [...second.text().matchAll(what)].length
      await until('the next payment', () => times(/confirmed {2}\+3\.00000000/g) > 0, LIMIT_MS)
      second.stop()
      await second.ended
      assert.equal(times(/confirmed {2}\+12\.50000000/g), times(/taken back {2}\+12\.50000000/g))
    })
  })
})

// Afterwards, and one by one: all together would be refused for their rate.
for (const { name, command, args, skip } of OTHER_RUNTIMES) {
  test(`TypeScript: every block runs on ${name}`, { skip }, () =>
    runBlocks([command, ...args], runner, blocks, project),
  )
}
