/** The command line as customers use it, against a running service: it knows nothing of the service's folder. */
import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { committedOpenapi } from '../../src/api/publish/openapi.ts'
import { HelpWanted, UsageError } from '../../src/cli/command.ts'
import { dataForms, usualSpelling } from '../../src/cli/customer/data-forms.ts'
import { ReaderGone } from '../../src/cli/customer/explain-failure.ts'
import { CUSTOMER_COMMANDS, DATA_COMMANDS } from '../../src/cli/customer/forms.ts'
import { readOperations } from '../../src/cli/customer/read-operations.ts'
import { runCustomer } from '../../src/cli/customer/run-customer.ts'
import { parseCommand } from '../../src/cli/run-command.ts'
import { signedDeliveries } from '../clients/signed-deliveries.ts'
import { openEventWriter } from '../fakes/event-writer.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { fillWorld, NOW } from '../fakes/market-world.ts'
import { cli, dataFolder } from '../fakes/service.ts'
import { until } from '../until.ts'

const operations = readOperations(committedOpenapi(ENDPOINTS))
const data = dataForms(operations)
const commands = [...CUSTOMER_COMMANDS.filter((form) => !DATA_COMMANDS.includes(form)), ...data]
const folder = dataFolder()
let service: MarketService
let key: string
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
  key = await service.key()
})
after(async () => {
  await service.stop()
  folder.remove()
})

interface Ran {
  code: number
  out: string
  said: string
}

/** Does what main does, in this process, because starting Node takes longer than everything that is tested here. */
async function tapeline(
  argv: readonly string[],
  more: { readsUpTo?: number; isTerminal?: boolean; ran?: Ran } = {},
): Promise<Ran> {
  const ran: Ran = more.ran ?? { code: 0, out: '', said: '' }
  const settings = {
    url: service.url,
    key,
    webhookSecret: undefined,
    configFolder: join(folder.path, 'config'),
  }
  try {
    const parsed = parseCommand(commands, usualSpelling(argv, operations))
    ran.code = await runCustomer(parsed, data, settings, {
      isTerminal: more.isTerminal === true,
      async print(text) {
        if (ran.out.length >= (more.readsUpTo ?? Number.POSITIVE_INFINITY)) throw new ReaderGone()
        ran.out += text
      },
      say: (text) => {
        ran.said += `${text}\n`
      },
      progress: () => {},
    })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    ran.code = 2
    ran.said = error.message
  }
  return ran
}

const CANDLES = ['--symbol', 'BTC', '--source', 'cexa', '--interval', '1h']
const RANGE = ['--start', '2026-05-20', '--end', '2026-05-22']
const QUERY = 'symbol=BTC&source=cexa&interval=1h&start=2026-05-20&end=2026-05-22'
const linesOf = (text: string) => text.trimEnd().split('\n')

test('every format has the bytes or rows that the service gives', async () => {
  const asked = ['get', 'candles', ...CANDLES, ...RANGE]
  const page = await service.get(`/v1/candles?${QUERY}`)
  const rows = page.json.data as object[]
  assert.equal(rows.length, 48)
  const ndjson = await tapeline(asked)
  assert.deepEqual(
    linesOf(ndjson.out).map((line) => JSON.parse(line)),
    rows,
  )
  assert.match(ndjson.said, /^48 rows, 194 credits$/m)
  assert.deepEqual(JSON.parse((await tapeline([...asked, '--json'])).out), rows)
  const csv = await service.get(`/v1/candles?${QUERY}&format=csv`)
  assert.equal((await tapeline([...asked, '--csv'])).out, csv.text)
  const table = await tapeline(asked, { isTerminal: true })
  assert.equal(linesOf(table.out).length, 49)
  assert.match(table.out, /^timestamp +/)
})

test('--all reads every row once; --csv has one head, --json is one list', async () => {
  const asked = ['get', '--all', 'candles', ...CANDLES, ...RANGE, '--limit', '7']
  const whole = (await service.get(`/v1/candles?${QUERY}`)).json.data
  assert.deepEqual(
    linesOf((await tapeline(asked)).out).map((line) => JSON.parse(line)),
    whole,
  )
  assert.deepEqual(JSON.parse((await tapeline([...asked, '--format=json', '--quiet'])).out), whole)
  assert.equal(
    (await tapeline([...asked, '--csv'])).out,
    (await service.get(`/v1/candles?${QUERY}&format=csv`)).text,
  )
})

test('--max-credits ends a walk before the page that would exceed it, and says where to go on', async () => {
  const asked = ['get', 'candles', ...CANDLES, ...RANGE, '--limit', '10', '--all']
  const cut = await tapeline([...asked, '--max-credits', '170', '--json'])
  assert.equal(cut.code, 3)
  assert.equal(JSON.parse(cut.out).length, 20, 'what was paid for is printed, as a whole document')
  const [, cursor = ''] = /--after=(\S+)$/m.exec(cut.said) ?? []
  const rest = await tapeline(['get', 'candles', ...CANDLES, `--after=${cursor}`, '--all'])
  assert.equal(rest.code, 0, rest.said)
  const printed = [...JSON.parse(cut.out), ...linesOf(rest.out).map((line) => JSON.parse(line))]
  assert.deepEqual(printed, (await service.get(`/v1/candles?${QUERY}`)).json.data)
})

test('when nobody reads any more, nothing more is paid for', async () => {
  const before = (await service.get('/v1/limits')).json.credits as { used: number }
  const asked = ['get', 'candles', ...CANDLES, ...RANGE, '--limit', '10', '--all']
  assert.equal((await tapeline(asked, { readsUpTo: 1 })).code, 0)
  const used = ((await service.get('/v1/limits')).json.credits as { used: number }).used - before.used
  assert.ok(used <= 2 * 80, `${used} credits`)
})

test('cost tells the price that get then takes', async () => {
  const asked = ['candles', ...CANDLES, ...RANGE]
  const { out } = await tapeline(['cost', ...asked, '--json'])
  const { said } = await tapeline(['get', ...asked])
  assert.match(said, new RegExp(`, ${JSON.parse(out).credits} credits`))
  assert.match((await tapeline(['cost', ...asked])).out, /^credits +194$/m)
})

test('one object is printed as fields or JSON, and names are understood in any spelling', async () => {
  assert.equal(JSON.parse((await tapeline(['get', 'limits'])).out).tier, 'business')
  assert.match((await tapeline(['get', 'limits', '--format', 'table'])).out, /^plan +enterprise$/m)
  for (const name of ['open-interest', 'openInterest', 'open_interest'])
    assert.equal((await tapeline(['get', name, '--symbol', 'BTC', '--limit', '1'])).code, 0, name)
  const wrong = await tapeline(['get', 'transaction', '--tx-id', 'zz'])
  assert.match(
    wrong.said,
    /tx_id.*\((invalid_param|not_found|transaction_not_found|environment_unavailable|upstream_unavailable)/s,
  )
})

test('what is wrong is named, with what was meant', async () => {
  const refusals: [string[], number, RegExp][] = [
    [['get', 'candels'], 2, /no command "get candels"\. Did you mean "get candles"/],
    [['get', 'candles', '--symbl', 'BTC'], 2, /has no option --symbl\. Did you mean --symbol\?/],
    [['get', 'candles', ...CANDLES, '--after', '-Xb72'], 2, /starting with a dash use '--after=-XYZ'/],
    [['get', 'limits', '--key', 'a', '--key', 'b'], 2, /^--key is given twice/],
    [['get', 'candles'], 2, /^--symbol is missing: Asset symbol/],
    [['get', 'candles', '--symbol', 'BTX', '--json'], 2, /BTC.*\(invalid_symbol, request req_\w+\)/],
    [
      ['get', 'candles', ...CANDLES, '--format', 'xml'],
      2,
      /--format must be one of table, ndjson, csv, json/,
    ],
    [['get', 'candles', ...CANDLES, '--csv', '--json'], 2, /Choose one format/],
    [['get', 'candles', ...CANDLES, '--all', '--format', 'table'], 2, /table cannot have all pages/],
    [['get', 'candles', ...CANDLES, '--max-credits', '-1'], 2, /max-credits/],
    [['get', 'limits', '--key', `svc_test_${'a'.repeat(38)}`], 1, /\(unauthorized, request/],
    [['get', 'limits', '--url', 'http://127.0.0.1:1'], 4, /without an answer.*Check --url/],
    [['stream', '--kinds', 'block_aded'], 2, /no kind "block_aded"\. Did you mean block_added/],
    [['stream', '--kinds', 'block_added', '--addresses', ' , '], 2, /^--addresses names nothing/],
    [['get', 'candles', ...CANDLES, '--max-credits='], 2, /^--max-credits is empty/],
    [['stream', '--kinds', 'utxos_changed'], 2, /at least one address.*\(invalid_param\)/],
    [['webhook', 'verify', '--secret', 'x', '--body', '/nowhere'], 1, /\/nowhere could not be read/],
  ]
  for (const [argv, code, said] of refusals) {
    const ran = await tapeline(argv)
    assert.match(ran.said, said, argv.join(' '))
    assert.deepEqual([ran.code, ran.out], [code, ''], argv.join(' '))
  }
})

test('no parameter of an endpoint has the name of an option, and each is in the help', async () => {
  for (const { name, params } of operations) {
    const own = ['format', 'csv', 'all', 'max-credits', 'quiet', 'url', 'key', 'json', 'help']
    assert.deepEqual(
      params.filter((param) => own.includes(param.name)),
      [],
      name,
    )
    await assert.rejects(tapeline(['get', name, '--help']), (error: unknown) => {
      assert.ok(error instanceof HelpWanted)
      for (const param of params)
        assert.ok(error.message.includes(`--${param.name} `), `${name} ${param.name}`)
      return true
    })
  }
})

test('a stream prints events as lines and goes on where it stopped', async () => {
  const writer = openEventWriter(service.folder)
  try {
    await writer.blocks(5)
    const position = join(folder.path, 'position')
    writeFileSync(position, '0\n')
    const asked = ['stream', '--kinds', 'block_added', '--position', position, '--count']
    const first = await tapeline([...asked, '2'])
    const second = await tapeline([...asked, '3'])
    const seqs = linesOf(first.out + second.out).map((line) => JSON.parse(line).seq as number)
    assert.deepEqual(seqs, [1, 2, 3, 4, 5])
    assert.equal(readFileSync(position, 'utf8'), '5\n')
    const last = await tapeline(['stream', '--kinds', 'block_added', '--resume-after', '3', '--count', '1'])
    assert.equal(JSON.parse(last.out).seq, 4)
    assert.match(last.said, /Go on with --resume-after 4/)

    // A number that the log never assigned: what came before the next event is unknown.
    const ran: Ran = { code: 0, out: '', said: '' }
    const ended = tapeline(['stream', '--kinds', 'block_added', '--resume-after', '999', '--count', '1'], {
      ran,
    })
    await until('the gap', () => /are missing \(unknown_position\)/.test(ran.said))
    await writer.blocks(1)
    await ended
    const [gap, event] = linesOf(ran.out).map((line) => JSON.parse(line))
    assert.deepEqual([gap.gap.reason, event.seq], ['unknown_position', 6])
  } finally {
    await writer.close()
  }
})

test('a stream that is stopped before its first event loses none of those that follow', async () => {
  const writer = openEventWriter(service.folder)
  try {
    const position = join(folder.path, 'early-position')
    const asked = ['stream', '--kinds', 'virtual_daa_score_changed', '--count', '1', '--position']
    const running = tapeline([...asked, position])
    await until('a stored position', () => existsSync(position))
    const asStopped = join(folder.path, 'position-as-stopped')
    copyFileSync(position, asStopped)
    await writer.scores(1)
    const { out } = await running
    assert.equal((await tapeline([...asked, asStopped])).out, out)
    assert.equal(readFileSync(position, 'utf8'), `${JSON.parse(out).seq}\n`)

    const failed = await tapeline([...asked, join(folder.path, 'missing/position')])
    assert.equal(failed.code, 1)
    assert.match(failed.said, /The position could not be stored/)
  } finally {
    await writer.close()
  }
})

test('a delivery is verified from files or as one message; a changed one is refused', async () => {
  const signed = signedDeliveries()
  const head = Object.entries(signed.headers).map(([name, value]) => `${name}: ${value}`)
  const file = (name: string, text: string) => {
    writeFileSync(join(folder.path, name), text)
    return join(folder.path, name)
  }
  const verify = (...args: string[]) => tapeline(['webhook', 'verify', '--secret', signed.current, ...args])
  const body = file('body', signed.body)
  for (const headers of [head.join('\r\n'), JSON.stringify(signed.headers)]) {
    const ran = await verify('--headers', file('headers', headers), '--body', body, '--any-age')
    assert.deepEqual([ran.code, ran.out], [0, `${signed.body}\n`], ran.said)
  }
  const message = file('message', `POST /hook HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${signed.body}`)
  assert.equal((await verify('--body', message, '--any-age')).out, `${signed.body}\n`)
  assert.match((await verify('--body', message)).said, /too old/)
  const changed = await verify(
    '--headers',
    join(folder.path, 'headers'),
    '--body',
    file('other', `${signed.body} `),
  )
  assert.deepEqual([changed.code, changed.out], [1, ''])
  assert.match(changed.said, /signature does not fit/)
})

test('login stores a key that works, for its user alone; it is used without any setting, and nowhere else', async () => {
  const env = { XDG_CONFIG_HOME: join(folder.path, 'xdg'), HOME: folder.path, TAPELINE_DATA: '/nowhere' }
  const file = join(env.XDG_CONFIG_HOME, 'tapeline/login.json')
  const run = (...args: string[]) => cli(folder.path, args, env)
  const refused = await run('login', '--url', service.url, '--key', `svc_test_${'a'.repeat(38)}`)
  assert.deepEqual([refused.code, statSync(file, { throwIfNoEntry: false })], [1, undefined])
  assert.match(refused.stderr, /\(unauthorized, request/)

  const stored = await run('login', '--url', service.url, '--key', key)
  assert.equal(stored.code, 0, stored.stderr)
  assert.match(stored.stdout, /^Plan enterprise, \d+ credits left\. Stored in /)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(!stored.stdout.includes(key))

  const used = await run('get', 'candles', ...CANDLES, '--limit', '2')
  assert.deepEqual([used.code, linesOf(used.stdout).length], [0, 2], used.stderr)
  const elsewhere = await run('get', 'limits', '--url', 'http://127.0.0.1:1')
  assert.equal(elsewhere.code, 2)
  assert.match(elsewhere.stderr, /the stored one belongs to/)
  chmodSync(file, 0o644)
  const open = await run('get', 'limits')
  assert.deepEqual(
    [open.code, open.stderr],
    [1, `${file} holds a key and can be read by others. Run: chmod 600 ${file}\n`],
  )

  const left = await run('logout')
  assert.deepEqual([left.code, left.stdout], [0, `Forgotten: ${file} is deleted.\n`], left.stderr)
  assert.equal(statSync(file, { throwIfNoEntry: false }), undefined)
  assert.equal((await run('logout')).stdout, `Nothing is stored in ${file}.\n`)
})
