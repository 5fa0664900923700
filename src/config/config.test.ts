import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, loadConfig } from './config.ts'

function withFile(content: string, run: (file: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const file = join(folder, 'tapeline.json')
  writeFileSync(file, content)
  try {
    run(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the names and defaults that operators rely on', () => {
  const { config, described } = loadConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.equal(config.data, './data')
  assert.deepEqual(config.live, [])
  assert.deepEqual(config.nodes, [])
  assert.equal(config.allowPrivateWebhooks, false)
  assert.equal(config.logLevel, 'info')
  const names = described.map(({ setting }) => setting)
  for (const name of [
    'HOST',
    'PORT',
    'DATA',
    'SEED',
    'LIVE',
    'NODES',
    'ALLOW_PRIVATE_WEBHOOKS',
    'LOG_LEVEL',
  ]) {
    assert.ok(names.includes(`TAPELINE_${name}`), name)
  }
  for (const { setting, about } of described) assert.match(about, /^.{10,}\.$/, setting)
})

const WRONG: [string, string, RegExp][] = [
  ['TAPELINE_PORT', '99999', /a whole number from 0 to 65535/],
  ['TAPELINE_PORT', '80 80', /a whole number/],
  ['TAPELINE_TEST', 'maybe', /on or off/],
  ['TAPELINE_ROLES', ',', /some of api, record, index, deliver, upkeep/],
  ['TAPELINE_LIVE', 'nyse', /off, all, or a list of cexa/],
  ['TAPELINE_NODES', 'http://127.0.0.1', /addresses such as ws:/],
  ['TAPELINE_ALLOW_PRIVATE_WEBHOOKS', 'yes please', /on or off/],
  ['TAPELINE_LOG_LEVEL', 'loud', /one of fatal, error/],
  ['TAPELINE_PUBLIC_URL', 'ftp://a', /an http\(s\) address/],
  ['TAPELINE_TRUSTED_PROXIES', '10.0.0.0/99', /ranges such as 10\.0\.0\.0\/8/],
  ['TAPELINE_CORS_ORIGINS', 'app', /origins such as/],
  ['TAPELINE_BODY_LIMIT', '1', /a whole number from 1024/],
  ['TAPELINE_METRICS_PORT', 'x', /or off/],
  ['TAPELINE_LEDGER_DAYS', '0', /from 1 to/],
  ['TAPELINE_SHUTDOWN_SECONDS', '-1', /from 1 to 300/],
  ['TAPELINE_MIN_FREE', '2 gigs', /a number of bytes such as 500MB/],
  [
    'TAPELINE_RETENTION',
    'trades@perpdx=9d',
    /"trades@perpdx=9d": no source is called "perpdx"; did you mean perpdex\?\. \(/,
  ],
]

for (const [variable, value, allowed] of WRONG) {
  test(`${variable}=${value} is refused, with its name, the value and what is allowed`, () => {
    assert.throws(
      () => loadConfig({ [variable]: value }),
      (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.ok(error.message.includes(variable))
        assert.ok(error.message.includes(JSON.stringify(value)))
        assert.match(error.message, allowed)
        return true
      },
    )
  })
}

test('the environment wins over the file, the file over the default', () => {
  withFile(
    JSON.stringify({ port: 9000, TAPELINE_HOST: '0.0.0.0', corsOrigins: ['https://a.example'] }),
    (file) => {
      const { config, described } = loadConfig({ TAPELINE_CONFIG: file, TAPELINE_PORT: '9001' })
      assert.equal(config.port, 9001)
      assert.equal(config.host, '0.0.0.0')
      assert.deepEqual(config.corsOrigins, ['https://a.example'])
      const from = (name: string) => described.find(({ setting }) => setting === name)?.from
      assert.equal(from('TAPELINE_PORT'), 'environment')
      assert.equal(from('TAPELINE_HOST'), 'file')
      assert.equal(from('TAPELINE_DATA'), 'default')
    },
  )
})

test('nodes are switched off by an empty setting, or by off, also where the file has some', () => {
  assert.deepEqual(loadConfig({ TAPELINE_NODES: '' }).config.nodes, [])
  withFile(JSON.stringify({ nodes: ['ws://127.0.0.1:18110'] }), (file) => {
    assert.equal(loadConfig({ TAPELINE_CONFIG: file }).config.nodes.length, 1)
    assert.deepEqual(loadConfig({ TAPELINE_CONFIG: file, TAPELINE_NODES: 'off' }).config.nodes, [])
  })
})

test('a faulty file is refused: absent, no JSON, no object, an unknown name, a value of no use', () => {
  assert.throws(() => loadConfig({ TAPELINE_CONFIG: '/no/such/file' }), /does not exist/)
  withFile('{', (file) => assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /not JSON/))
  withFile('[]', (file) => assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /not a JSON object/))
  withFile('{"prt": 1}', (file) =>
    assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /unknown setting "prt"\. Did you mean port\?/),
  )
  for (const value of ['{"a": 1}', 'null', '[{}]', '""']) {
    withFile(`{"data": ${value}}`, (file) =>
      assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /TAPELINE_DATA/),
    )
  }
  withFile('{"host": ""}', (file) =>
    assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /TAPELINE_HOST/),
  )
  withFile('{"roles": []}', (file) =>
    assert.throws(() => loadConfig({ TAPELINE_CONFIG: file }), /TAPELINE_ROLES/),
  )
})

test('a mistyped variable is warned about', () => {
  const { warnings } = loadConfig({ TAPELINE_PROT: '1' })
  assert.deepEqual(warnings, ['TAPELINE_PROT is not a setting. Did you mean TAPELINE_PORT?'])
})
