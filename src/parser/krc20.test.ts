import assert from 'node:assert/strict'
import { test } from 'node:test'
import kaspa from 'kaspa-wasm32-sdk'
import { kaspaFixture, skipWithoutKaspa, transactionOf } from '../../test/kaspa-fixtures.ts'
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import { type Network, parseNetwork } from '../core/chain/network.ts'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { readKrc20Envelope } from './krc20-envelope.ts'
import { readKrc20Operation } from './krc20-operation.ts'
import { parseTransaction } from './parse-transaction.ts'
import { readScript } from './read-script.ts'
import { addressOfRedeemScript } from './script-address.ts'

const KEY = '72ce1e7c14c31565c9994d3fc092ca41513fff535dc079b54d8b7b8f40c1ed1d'
const OWNER = 'kaspa:qpevu8nuznp32ewfn9xnlsyjefq4z0ll2dwuq7d4fk9hhr6qc8k362p043vdh'

function push(bytes: Uint8Array | string): string {
  const hex = typeof bytes === 'string' ? Buffer.from(bytes).toString('hex') : hexOfBytes(bytes)
  const length = hex.length / 2
  if (length <= 0x4b) return length.toString(16).padStart(2, '0') + hex
  if (length <= 0xff) return `4c${length.toString(16).padStart(2, '0')}${hex}`
  return `4d${(length & 0xff).toString(16).padStart(2, '0')}${(length >> 8).toString(16).padStart(2, '0')}${hex}`
}

function redeem(json: string, options: { check?: string; marker?: string; extra?: string } = {}): string {
  const { check = `20${KEY}ac`, marker = 'kasplex', extra = '' } = options
  return `${check}0063${push(marker)}${extra}00${push(json)}68`
}

function revealing(...redeems: string[]): Transaction {
  return {
    version: 0,
    inputs: redeems.map((script, index) => ({
      previousOutpoint: { transactionId: 'a6'.repeat(32), index },
      signatureScript: `41${'00'.repeat(64)}01${push(bytesOfHex(script))}`,
      sequence: 0n,
      sigOpCount: 1,
      computeBudget: 0,
    })),
    outputs: [{ value: 1n, scriptPublicKey: `000020${KEY}ac`, covenant: null }],
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: '',
    storageMass: 0n,
  }
}

function operations(
  transaction: Transaction,
  spent: (SpentOutput | null)[] = [],
  network: Network = 'mainnet',
) {
  return parseTransaction(transaction, { network, spent }).details.krc20?.operations ?? []
}

const MINT = '{"p":"krc-20","op":"mint","tick":"cypu"}'

test('an envelope is read with its operation, sender and committing address', () => {
  const script = redeem(MINT)
  const transaction = revealing(script)
  assert.deepEqual(parseTransaction(transaction, { network: 'mainnet' }).tags, ['krc20'])
  const [found] = operations(transaction)
  assert.ok(found)
  assert.deepEqual(found.operation, {
    op: 'mint',
    tick: 'CYPU',
    ca: null,
    amt: null,
    to: null,
    other: {},
    faults: [],
  })
  assert.equal(found.sender, OWNER)
  assert.equal(found.commit_address, addressOfRedeemScript(bytesOfHex(script), 'mainnet'))
  assert.equal(found.confidence, 'likely')
})

test('names are read in any case, an extra member is skipped, an ECDSA key is known', () => {
  const upper = redeem('{"p":"KRC-20","op":"Mint","tick":"NACHO"}', { marker: 'KasPlex', extra: '510178' })
  assert.equal(operations(revealing(upper))[0]?.operation.tick, 'NACHO')
  const ecdsa = redeem(MINT, { check: `2103${KEY}ab` })
  assert.match(operations(revealing(ecdsa))[0]?.sender ?? '', /^kaspa:qyp/)
})

test('the sender of several keys is the address of the script that checks them, by the Rust code', () => {
  const addressOf = (check: string) =>
    kaspa.addressFromScriptPublicKey(kaspa.payToScriptHashScript(check), 'mainnet')?.toString()
  const other = 'd8'.repeat(32)
  const ecdsa = `03${KEY}`
  // The check in the program, and the check whose address counts.
  const checks: [string, string][] = [
    [`5120${KEY}51ae`, `5120${KEY}51ae`],
    [`5220${KEY}20${other}52ae`, `5220${KEY}20${other}52ae`],
    [`5220${other}20${KEY}52ae`, `5220${other}20${KEY}52ae`],
    [`5f${`20${KEY}`.repeat(15)}5fae`, `5f${`20${KEY}`.repeat(15)}5fae`],
    [`5221${ecdsa}21${ecdsa}52a9`, `5221${ecdsa}21${ecdsa}52a9`],
    // The reference indexer chooses the check by the keys.
    [`5220${KEY}20${other}52a9`, `5220${KEY}20${other}52ae`],
    [`5121${ecdsa}20${other}52ae`, `5121${ecdsa}20${other}52a9`],
  ]
  for (const [check, counted] of checks) {
    const [found] = operations(revealing(redeem(MINT, { check })))
    assert.equal(found?.operation.op, 'mint', check)
    assert.match(found.sender ?? '', /^kaspa:p/)
    assert.equal(found.sender, addressOf(counted), check)
    assert.equal(found.key_check, counted)
  }
  for (const check of [`51${`20${KEY}`.repeat(16)}60ae`, `6020${KEY}51ae`, `5120${KEY}51ac`, '5150ae'])
    assert.deepEqual(operations(revealing(redeem(MINT, { check }))), [], check)
})

test('envelopes of other protocols, broken ones and plain text are not KRC-20', () => {
  const wrong = [
    redeem(MINT, { marker: 'kns' }),
    redeem(MINT, { marker: 'kasplexx' }),
    redeem(MINT, { check: '' }),
    redeem(MINT, { check: `20${KEY}ab` }),
    redeem(MINT, { check: `5220${KEY}53ae` }),
    redeem(MINT, { extra: '520178' }),
    redeem(MINT).replace('076b6173', '4c076b6173'),
    redeem(MINT).replace('00287b22', '004e280000007b22'),
    redeem('{"p":"krc-721","op":"mint","tick":"cypu"}'),
    redeem('{"p":"krc-20","tick":"cypu"}'),
    redeem('{"p":"krc-20","op":5}'),
    redeem('["krc-20"]'),
    redeem('null'),
    redeem('{"p":"krc-20","op":"mint"'),
  ]
  for (const script of wrong) assert.deepEqual(operations(revealing(script)), [], script)
})

test('with the spent output known, only a redeem script of its hash counts, and then certainly', () => {
  const script = redeem(MINT)
  const spentBy = (scriptPublicKey: string): SpentOutput => ({
    amount: 1n,
    scriptPublicKey,
    covenantId: null,
    isCoinbase: false,
    blockDaaScore: null,
  })
  const right = '0000aa20dc516c53173f51883001dd35a66395aa6ccd8d437172ab75f7f0a5835d318ee787'
  assert.equal(operations(revealing(script), [spentBy(right)])[0]?.confidence, 'certain')
  assert.deepEqual(operations(revealing(script), [spentBy(right.replace('dc', 'dd'))]), [])
  assert.deepEqual(operations(revealing(script), [spentBy(`000020${KEY}ac`)]), [])
})

test('the payload form is read, its sender is the owner of the first input', () => {
  const transfer = `{"p":"krc-20","op":"transfer","tick":"KASP","amt":"1000","to":"${OWNER}"}`
  const transaction = {
    ...revealing(),
    inputs: [
      {
        previousOutpoint: { transactionId: 'a6'.repeat(32), index: 0 },
        signatureScript: `41${'00'.repeat(65)}`,
        sequence: 0n,
        sigOpCount: 1,
        computeBudget: 0,
      },
    ],
    payload: Buffer.from(transfer).toString('hex'),
  }
  const [unknown] = operations(transaction)
  assert.equal(unknown?.form, 'payload')
  assert.equal(unknown?.sender, null)
  assert.equal(unknown?.operation.to, OWNER)
  const spent = {
    amount: 1n,
    scriptPublicKey: `000020${KEY}ac`,
    covenantId: null,
    isCoinbase: null,
    blockDaaScore: null,
  }
  assert.equal(operations(transaction, [spent])[0]?.sender, OWNER)
  assert.deepEqual(operations({ ...transaction, payload: Buffer.from('{"p":"kasia"}').toString('hex') }), [])
})

test('what an operation lacks is reported', () => {
  const faults = (json: string, network: Network = 'mainnet') =>
    readKrc20Operation(Buffer.from(json), network)?.faults
  assert.deepEqual(faults('{"p":"krc-20","op":"transfer"}'), [
    'tick or ca is missing',
    'amt is missing',
    'to is missing',
  ])
  assert.deepEqual(
    faults(`{"p":"krc-20","op":"transfer","tick":"AB","amt":"1.5","to":"${OWNER}"}`, 'testnet-10'),
    ['tick is not 4 to 6 letters', 'amt is not a positive integer', 'to is not an address of this network'],
  )
  assert.deepEqual(faults('{"p":"krc-20","op":"transfer","tick":"KASP","to":""}'), [
    'amt is missing',
    'to is missing',
  ])
  // Members that the operation does not read cannot be wrong.
  assert.deepEqual(faults('{"p":"krc-20","op":"mint","tick":"KASP","amt":"0","ca":"x"}'), [])
  assert.deepEqual(faults('{"p":"krc-20","op":"burn","tick":"KASP","amt":"1","to":"x"}'), [])
  assert.deepEqual(faults(`{"p":"krc-20","op":"burn","tick":"?","ca":"${KEY}","amt":"1"}`), [])
  assert.deepEqual(faults(`{"p":"krc-20","op":"mint","tick":"${KEY}"}`), ['tick is not 4 to 6 letters'])
  assert.deepEqual(faults('{"p":"krc-20","op":"issue","tick":"KASP","amt":"1"}'), ['ca is missing'])
  assert.deepEqual(faults('{"p":"krc-20","op":"list","tick":"KASP","ca":"","amt":"1"}'), [
    'ca is not a transaction id',
  ])
  assert.deepEqual(faults('{"p":"krc-20","op":"deploy","mod":"issue","name":"X","max":"0"}'), [])
  assert.deepEqual(faults('{"p":"krc-20","op":"deploy","tick":"KASP","max":"1"}'), ['lim is missing'])
  for (const op of ['constructor', 'tostring', 'fly']) {
    assert.deepEqual(faults(`{"p":"krc-20","op":"${op}","__proto__":"x"}`), ['op is unknown'])
  }
})

test('an envelope has two entries: of two objects the last counts, one is followed by the end of the branch', () => {
  const json = push(MINT)
  const other = push('{"p":"krc-20","op":"mint","tick":"nacho"}')
  const extra = '0178'
  const tickOf = (entries: string) =>
    operations(revealing(`20${KEY}ac0063${push('kasplex')}${entries}`))[0]?.operation.tick
  const read: [string, string][] = [
    [`00${json}68`, 'CYPU'],
    [`00${json}00${other}68`, 'NACHO'],
    [`00${json}51${extra}68`, 'CYPU'],
    [`5f${extra}00${json}68`, 'CYPU'],
    // Anything after two entries is ignored.
    [`00${json}00${other}00${json}68`, 'NACHO'],
    [`51${extra}00${json}6168`, 'CYPU'],
    [`00${json}6861`, 'CYPU'],
  ]
  for (const [entries, tick] of read) assert.equal(tickOf(entries), tick, entries)
  const wrong = [
    `00${json}6168`,
    `00${json}5268`,
    `00${json}52${extra}68`,
    `00${json}0068`,
    `00${json}000068`,
    `51${extra}53${extra}00${json}68`,
    `515100${json}68`,
    `51${extra}6800${json}`,
    `00${json}75`,
    `00${json}51`,
    '68',
  ]
  for (const entries of wrong) assert.equal(tickOf(entries), undefined, entries)
})

test('the program is the last of at most sixteen plain pushes', () => {
  const program = push(bytesOfHex(redeem(MINT)))
  const signature = `41${'00'.repeat(64)}01`
  const found = (signatureScript: string) => {
    const transaction = revealing('')
    const [input] = transaction.inputs
    assert.ok(input)
    return operations({ ...transaction, inputs: [{ ...input, signatureScript }] }).length
  }
  assert.equal(found(signature + program), 1)
  assert.equal(found(signature.repeat(15) + program), 1)
  assert.equal(found(`00${signature}${program}`), 1)
  assert.equal(found(signature.repeat(16) + program), 0)
  for (const number of ['51', '60', '4f']) assert.equal(found(`${number}${signature}${program}`), 0, number)
})

test('a protocol member that is not text makes it no operation; any other counts as absent', () => {
  const ofEnvelope = (json: string) => operations(revealing(redeem(json)))
  const ofPayload = (json: string) =>
    operations({ ...revealing(''), payload: Buffer.from(json).toString('hex') })
  const withMember = (name: string, value: string) =>
    `{"p":"krc-20","op":"transfer","tick":"KASP","${name}":${value}}`
  for (const name of ['amt', 'to', 'max', 'lim', 'pre', 'dec', 'utxo', 'price', 'mod', 'name', 'ca', 'from'])
    for (const value of ['5', '0', 'true', '{}', '["1"]']) {
      assert.deepEqual(ofEnvelope(withMember(name, value)), [], `${name} ${value}`)
      assert.deepEqual(ofPayload(withMember(name, value)), [], `${name} ${value}`)
    }
  assert.deepEqual(ofEnvelope(withMember('amt', 'null')), [])
  assert.equal(ofPayload(withMember('amt', 'null'))[0]?.operation.amt, null)
  // A member that the protocol does not know is skipped in the envelope but invalid in the payload.
  assert.equal(ofEnvelope(withMember('note', '5'))[0]?.operation.op, 'transfer')
  assert.equal(ofEnvelope(withMember('memo', '5'))[0]?.operation.other.memo, undefined)
  assert.deepEqual(ofPayload(withMember('note', '5')), [])
})

test('op has one to sixteen ASCII characters, digits among them; to is ASCII', () => {
  const opOf = (op: string) =>
    operations(revealing(redeem(JSON.stringify({ p: 'krc-20', op, tick: 'KASP' }))))[0]?.operation.op
  for (const op of ['mint', 'MINT2', 'a', '1', 'x-9_', 'abcdefghijklmnop'])
    assert.equal(opOf(op), op.toLowerCase(), op)
  for (const op of ['', 'abcdefghijklmnopq', 'münt', 'mint\u0430']) assert.equal(opOf(op), undefined, op)
  const toOf = (to: string) =>
    operations(revealing(redeem(JSON.stringify({ p: 'krc-20', op: 'mint', tick: 'KASP', to }))))
  assert.equal(toOf(OWNER)[0]?.operation.to, OWNER)
  assert.deepEqual(toOf(`${OWNER}é`), [])
})

test('letters are mapped one by one, as in the reference indexer', () => {
  const read = (members: Record<string, string>) =>
    readKrc20Operation(
      Buffer.from(JSON.stringify({ p: 'krc-20', op: 'mint', tick: 'KASP', ...members })),
      'mainnet',
    )
  for (const tick of ['\ufb01sh', 'ta\u00df', '\u212aasp'])
    assert.equal(read({ tick })?.faults.length, 1, tick)
  assert.equal(read({ tick: 'ka\u017fp' })?.tick, 'KASP')
  assert.equal(read({ tick: 'k\u0131sp' })?.tick, 'KISP')
  assert.equal(read({ p: '\u212arc-20' }), null)
  assert.equal(read({ p: 'KrC-20' })?.op, 'mint')
  assert.equal(read({ op: 'M\u0130NT' })?.op, 'mint')
  assert.equal(read({ op: 'blac\u212alist' })?.op, 'blacklist')
})

test('white space before the object in the payload is skipped', () => {
  const found = (payload: string) =>
    operations({ ...revealing(''), payload: Buffer.from(payload).toString('hex') }).length
  assert.equal(found(` \t\r\n${MINT}`), 1)
  for (const before of ['\v', '\u00a0', '\ufeff', ' x']) assert.equal(found(before + MINT), 0)
  assert.equal(found(' '.repeat(70_000) + MINT), 0)
})

interface Sample {
  network: string
  expectedTxId?: string
  spentUtxo?: { amount: number; scriptPublicKey: string }
  tx?: unknown
  redeemScript: string
  sender?: string
  p2shAddress?: string
  expectedP2shAddress?: string
}

test('recorded KRC-20 samples: ids, addresses, senders and operations', { skip: skipWithoutKaspa }, () => {
  /** Copied by hand from the protocol page. */
  const expected = [
    { op: 'mint', tick: 'CYPU', amt: null, to: null },
    { op: 'send', tick: 'KFWFS', amt: null, to: null },
    {
      op: 'transfer',
      tick: 'KASP',
      amt: '1000000000',
      to: 'kaspa:qqd6e65yefepe9wk0m9vuxdufxd80sphy67gwwd0vdaumzdt4tc9s3qt0lqeh',
    },
  ]
  const samples = kaspaFixture<Sample[]>('tx/krc20-samples.json')
  assert.equal(samples.length, 3)
  for (const [index, sample] of samples.entries()) {
    const network = parseNetwork(sample.network)
    assert.ok(network)
    const program = bytesOfHex(sample.redeemScript)
    assert.equal(addressOfRedeemScript(program, network), sample.p2shAddress ?? sample.expectedP2shAddress)
    const script = readScript(program)
    const envelope = script && readKrc20Envelope(script)
    const operation = envelope && readKrc20Operation(envelope.json, network)
    assert.ok(operation)
    const { op, tick, amt, to } = operation
    assert.deepEqual({ op, tick, amt, to }, expected[index])
    if (!sample.tx) continue
    const spent = sample.spentUtxo
      ? [
          {
            amount: BigInt(sample.spentUtxo.amount),
            scriptPublicKey: sample.spentUtxo.scriptPublicKey,
            covenantId: null,
            isCoinbase: null,
            blockDaaScore: null,
          },
        ]
      : []
    const parsed = parseTransaction(transactionOf(sample.tx), { network, spent })
    assert.equal(parsed.tx_id, sample.expectedTxId)
    assert.deepEqual(parsed.tags, ['krc20'])
    assert.equal(parsed.details.krc20?.operations[0]?.sender, sample.sender)
    assert.equal(parsed.details.krc20?.confidence, sample.spentUtxo ? 'certain' : 'likely')
    assert.equal(parsed.inputs[0]?.address ?? null, sample.spentUtxo ? sample.p2shAddress : null)
  }
})
