/** The verification examples of the documentation accept real signatures and refuse changed bodies. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createWebhookSigner, newSecret } from '../../src/webhooks/sign.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/protocol/webhooks.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tapeline-docs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const secret = newSecret(randomBytes)
const body = JSON.stringify({ id: 'evt_1', text: 'grüße ✓' })
const headers = createWebhookSigner({ current: secret, previous: null }).headers({
  id: 'dlv_1',
  timestampS: 1,
  body,
})
const signature = headers['X-Svc-Signature'] ?? ''

function example(fence: string): string {
  const found = new RegExp(`\`\`\`${fence}\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1]
  assert.ok(found, `the page has an example ${fence}`)
  return found
}

test('the TypeScript example', async () => {
  const file = join(folder, 'verify.ts')
  writeFileSync(file, example('ts verify'))
  const { verify } = (await import(file)) as {
    verify: (secret: string, body: Buffer, signature: string) => boolean
  }
  assert.equal(verify(secret, Buffer.from(body), signature), true)
  assert.equal(verify(secret, Buffer.from(`${body} `), signature), false)
  assert.equal(verify(newSecret(randomBytes), Buffer.from(body), signature), false)
  assert.equal(verify(secret, Buffer.from(body), 'sha256='), false)
})

const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0
test('the Python example', { skip: has('python3', '--version') ? false : 'python3 is not installed' }, () => {
  const file = join(folder, 'verify.py')
  const call = 'import sys\nprint(verify(sys.argv[1], sys.argv[2].encode(), sys.argv[3]))\n'
  writeFileSync(file, `${example('python verify')}\n${call}`)
  const run = (...args: string[]) => execFileSync('python3', [file, ...args], { encoding: 'utf8' }).trim()
  assert.equal(run(secret, body, signature), 'True')
  assert.equal(run(secret, `${body} `, signature), 'False')
})

/** With an empty build cache the compiler builds its standard library: 16 s of a core. */
const withoutGo = !process.env.TAPELINE_SOAK
  ? 'runs with npm run soak'
  : has('go', 'version')
    ? false
    : 'go is not installed'
test('the Go example', { skip: withoutGo }, () => {
  const file = join(folder, 'main.go')
  const program = example('go')
    .replace('package hook', 'package main')
    .replace('import (', 'import (\n\t"fmt"\n\t"os"')
  writeFileSync(
    file,
    `${program}\nfunc main() { fmt.Println(Verify(os.Args[1], []byte(os.Args[2]), os.Args[3])) }\n`,
  )
  const run = (...args: string[]) => execFileSync('go', ['run', file, ...args], { encoding: 'utf8' }).trim()
  assert.equal(run(secret, body, signature), 'true')
  assert.equal(run(secret, `${body} `, signature), 'false')
})

test('the Go example is Go', { skip: has('gofmt', '-h') ? false : 'gofmt is not installed' }, () => {
  const formatted = spawnSync('gofmt', { input: example('go'), encoding: 'utf8' })
  assert.equal(formatted.stderr, '')
  assert.equal(formatted.stdout, example('go'))
})
