import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeAnyAddress } from '../../test/fakes/address-oracle.ts'
import { deserialises } from '../../test/fakes/wrpc-shapes.ts'
import { parseExact } from '../kit/exact-json.ts'
import { RPC_METHODS } from './methods.ts'
import { validateParams } from './validate-params.ts'

const FIXTURES = process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '../../../shared/fixtures')
const SAMPLES = join(FIXTURES, 'kaspa/wrpc-frames/samples.json')

const ADDRESS = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
const HASH = 'ab'.repeat(32)
const MAX = 18446744073709551615n

const textOf = (method: string, params: unknown): string => {
  const prepared = validateParams(method, params, 'mainnet')
  assert.ok(prepared.ok, prepared.ok ? '' : JSON.stringify(prepared.faults))
  return prepared.call.paramsText
}
const faultsOf = (method: string, params: unknown) => {
  const prepared = validateParams(method, params, 'mainnet')
  assert.ok(!prepared.ok)
  return prepared.faults
}
const transaction = (changes: Record<string, unknown> = {}) => ({
  version: 0,
  inputs: [
    { previousOutpoint: { transactionId: HASH, index: 0 }, signatureScript: '', sequence: 0, sigOpCount: 1 },
  ],
  outputs: [{ value: 1, scriptPublicKey: '000020ac' }],
  lockTime: 0,
  subnetworkId: '00'.repeat(20),
  gas: 0,
  payload: '',
  mass: 0,
  ...changes,
})

test('what the real client sends passes for every method and stays readable for a node', {
  skip: !existsSync(SAMPLES),
}, () => {
  const read = parseExact(readFileSync(SAMPLES, 'utf8'))
  assert.ok(read.ok)
  const samples = read.value as Record<string, { params: unknown }>
  assert.ok(Object.keys(samples).length >= 30)
  for (const [method, { params }] of Object.entries(samples)) {
    const text = textOf(method, params)
    assert.ok(deserialises(method, text), `${method} ${text.slice(0, 200)}`)
  }
})

test('mandatory booleans and other documented values are filled in', () => {
  assert.equal(textOf('getBlock', { hash: HASH }), `{"hash":"${HASH}","includeTransactions":true}`)
  assert.equal(textOf('getBlocks', null), '{"includeBlocks":false,"includeTransactions":false}')
  assert.equal(textOf('ping', undefined), '{}')
  assert.equal(textOf('estimateNetworkHashesPerSecond', {}), '{"windowSize":1000}')
  assert.equal(
    textOf('getBlockTemplate', { payAddress: ADDRESS }),
    `{"payAddress":"${ADDRESS}","extraData":[]}`,
  )
  for (const method of RPC_METHODS.values()) {
    const bare = validateParams(method.name, {}, 'mainnet')
    if (bare.ok) assert.ok(deserialises(method.name, bare.call.paramsText), method.name)
  }
})

test('a 64-bit integer goes out exactly, given as number, bigint or text', () => {
  for (const value of [MAX, '18446744073709551615']) {
    assert.equal(
      textOf('getDaaScoreTimestampEstimate', { daaScores: [value] }),
      '{"daaScores":[18446744073709551615]}',
    )
  }
  assert.equal(textOf('getDaaScoreTimestampEstimate', { daaScores: [7, '8', 9n] }), '{"daaScores":[7,8,9]}')
  const sent = textOf('submitTransaction', {
    transaction: transaction({ inputs: [{ ...transaction().inputs[0], sequence: MAX }] }),
  })
  assert.match(sent, /"sequence":18446744073709551615,/)
  for (const value of [MAX + 1n, -1, 1.5, 2 ** 53, 'x', '01', null, {}, '99999999999999999999']) {
    assert.equal(faultsOf('getDaaScoreTimestampEstimate', { daaScores: [value] })[0]?.path, 'daaScores[0]')
  }
})

test('an address that would crash a node is refused: any length but the exact one, even with a valid checksum', () => {
  assert.equal(encodeAnyAddress('kaspa', 0, new Uint8Array(32)).length, ADDRESS.length)
  textOf('getBalanceByAddress', { address: encodeAnyAddress('kaspa', 0, new Uint8Array(32)) })
  const methods: [string, (address: string) => unknown][] = [
    ['getBalanceByAddress', (address) => ({ address })],
    ['getBalancesByAddresses', (address) => ({ addresses: [ADDRESS, address] })],
    ['getUtxosByAddresses', (address) => ({ addresses: [address] })],
    ['getMempoolEntriesByAddresses', (address) => ({ addresses: [address] })],
    ['getBlockTemplate', (payAddress) => ({ payAddress })],
  ]
  for (const [method, params] of methods) {
    for (const version of [0, 1, 8]) {
      for (let bytes = 0; bytes <= 48; bytes++) {
        if (bytes === (version === 1 ? 33 : 32)) continue
        const killer = encodeAnyAddress('kaspa', version, new Uint8Array(bytes).fill(7))
        assert.equal(
          validateParams(method, params(killer), 'mainnet').ok,
          false,
          `${method} v${version} ${bytes}`,
        )
      }
    }
    for (const version of [2, 7, 9, 255]) {
      const unknown = encodeAnyAddress('kaspa', version, new Uint8Array(32))
      assert.equal(validateParams(method, params(unknown), 'mainnet').ok, false)
    }
  }
})

test('an address of another network, mistyped or without prefix is refused with the reason', () => {
  const cases: [unknown, RegExp][] = [
    ['kaspatest:qxaqrlzlf6wes72en3568khahq66wf27tuhfxn5nytkd8tcep2c0vrse6gdmpks', /another network/],
    [ADDRESS.replace('qpau', 'qpaq'), /checksum/],
    [ADDRESS.slice(6), /prefix/],
    [ADDRESS.toUpperCase(), /prefix/],
    [42, /must be an address/],
    [[ADDRESS], /must be an address/],
  ]
  for (const [address, message] of cases) {
    const faults = faultsOf('getBalanceByAddress', { address })
    assert.equal(faults[0]?.path, 'address')
    assert.match(faults[0]?.message ?? '', message)
  }
})

test('a scriptPublicKey is sent in hex form only; the object form that crashes a node is refused', () => {
  const submit = (scriptPublicKey: unknown) =>
    validateParams(
      'submitTransaction',
      { transaction: transaction({ outputs: [{ value: 1, scriptPublicKey }] }) },
      'mainnet',
    )
  const fine = submit({ version: 0, script: '20AC' })
  assert.ok(fine.ok)
  assert.match(fine.call.paramsText, /"scriptPublicKey":"000020ac"/)
  for (const broken of [
    { version: '0', script: '20ac' },
    { version: 0, script: 5 },
    { version: 1.5, script: '20ac' },
    { version: null, script: '20ac' },
    { version: [], script: {} },
    { version: 0 },
    { script: '20ac' },
    {},
    [],
    null,
    17,
    '00',
    '0000z0',
    '00002',
  ]) {
    assert.equal(submit(broken).ok, false, JSON.stringify(broken))
  }
})

const blockHeader = (parentsByLevel: readonly (readonly string[])[] = [[HASH]]) => ({
  version: 2,
  parentsByLevel,
  hashMerkleRoot: HASH,
  acceptedIdMerkleRoot: HASH,
  utxoCommitment: HASH,
  timestamp: 1,
  bits: 1,
  nonce: MAX,
  daaScore: 1,
  blueWork: 'ab',
  blueScore: 1,
  pruningPoint: HASH,
})

test('a block is bounded: parents, transactions, and their inputs and outputs together', () => {
  const output = { value: 1, scriptPublicKey: '000051' }
  const faults = (levels: number, parents: number, transactions: number, outputs: number) => {
    const one = transaction({ inputs: [], outputs: Array(outputs).fill(output) })
    const header = blockHeader(Array(levels).fill(Array(parents).fill(HASH)))
    const block = { header, transactions: Array(transactions).fill(one) }
    const prepared = validateParams('submitBlock', { block }, 'mainnet')
    return prepared.ok ? [] : prepared.faults.map(({ path }) => path)
  }
  assert.deepEqual(faults(256, 32, 1_000, 2), [])
  assert.deepEqual(faults(257, 1, 1, 1), ['block.header.parentsByLevel'])
  assert.deepEqual(faults(1, 33, 1, 1), ['block.header.parentsByLevel[0]'])
  assert.deepEqual(faults(1, 1, 1_001, 1), ['block.transactions'])
  assert.deepEqual(faults(1, 1, 10, 300), ['block.transactions[6]'])
})

test('a scriptPublicKey inside a block is treated the same', () => {
  const block = (scriptPublicKey: unknown) => ({
    block: {
      header: blockHeader(),
      transactions: [transaction({ outputs: [{ value: 1, scriptPublicKey }] })],
    },
  })
  const text = textOf('submitBlock', block({ version: 0, script: '51' }))
  assert.ok(deserialises('submitBlock', text), text)
  assert.match(text, /"nonce":18446744073709551615,/)
  assert.equal(
    faultsOf('submitBlock', block({ version: '0', script: '51' }))[0]?.path,
    'block.transactions[0].outputs[0].scriptPublicKey',
  )
})

test('every fault is named, not only the first', () => {
  const faults = faultsOf('getVirtualChainFromBlock', {
    startHash: 'zz',
    includeAcceptedTransactionIds: 'yes',
    minConfirmationCount: -1,
    extra: 1,
  })
  assert.deepEqual(faults.map(({ path }) => path).sort(), [
    'extra',
    'includeAcceptedTransactionIds',
    'minConfirmationCount',
    'startHash',
  ])
  assert.equal(faultsOf('getBlock', [])[0]?.path, 'params')
  assert.equal(faultsOf('getBlock', {})[0]?.message, 'is missing')
  assert.equal(faultsOf('getBlock', { hash: HASH, ['__proto__x'.slice(0, 9)]: 1 }).length, 1)
})

test('sizes are bounded', () => {
  assert.match(
    faultsOf('getUtxosByAddresses', { addresses: Array(1_001).fill(ADDRESS) })[0]?.message ?? '',
    /at most 1000/,
  )
  assert.equal(
    faultsOf('getBlockTemplate', { payAddress: ADDRESS, extraData: Array(2_000).fill(0) }).length,
    1,
  )
  assert.ok(faultsOf('getUtxosByAddresses', { addresses: Array(900).fill('x') }).length <= 50)
})

test('blocked and unknown methods are refused whatever their params', () => {
  for (const [name, kind] of [
    ['shutdown', 'blocked_method'],
    ['subscribe', 'blocked_method'],
    ['notifyBlockAdded', 'blocked_method'],
    ['notify', 'blocked_method'],
    ['noOp', 'unknown_method'],
    ['connect', 'unknown_method'],
    ['GetBlock', 'unknown_method'],
    ['', 'unknown_method'],
    ['__proto__', 'unknown_method'],
    ['constructor', 'unknown_method'],
    ['blockAddedNotification', 'unknown_method'],
  ] as const) {
    const prepared = validateParams(name, {}, 'mainnet')
    assert.ok(!prepared.ok && prepared.kind === kind, name)
  }
})
