import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kaspaFixture, kaspaLines, skipWithoutKaspa, transactionOf } from '../../test/kaspa-fixtures.ts'
import { mainnetClassicTransactions } from '../../test/kaspa-grpc.ts'
import { decodeAddress } from '../core/chain/address.ts'
import {
  COINBASE_SUBNETWORK,
  NATIVE_SUBNETWORK,
  type SpentOutput,
  type Transaction,
} from '../core/chain/transaction.ts'
import { parseTransaction } from './parse-transaction.ts'
import { scriptOfAddress } from './script-address.ts'

const KEY = '7bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69'
const OWNER = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
const PAY_OWNER = `000020${KEY}ac`

const PAYMENT: Transaction = {
  version: 0,
  inputs: [
    {
      previousOutpoint: { transactionId: 'cc'.repeat(32), index: 3 },
      signatureScript: `41${'00'.repeat(64)}01`,
      sequence: 0n,
      sigOpCount: 1,
      computeBudget: 0,
    },
  ],
  outputs: [
    { value: 5n, scriptPublicKey: PAY_OWNER, covenant: null },
    { value: 6n, scriptPublicKey: '000051', covenant: null },
  ],
  lockTime: 0n,
  subnetworkId: NATIVE_SUBNETWORK,
  gas: 0n,
  payload: '',
  storageMass: 0n,
}

test('a payment has inputs, outputs and no tags', () => {
  const parsed = parseTransaction(PAYMENT, { network: 'mainnet' })
  assert.deepEqual(parsed.inputs, [
    { tx_id: 'cc'.repeat(32), index: 3, address: null, amount_sompi: null, signed: null },
  ])
  assert.deepEqual(parsed.outputs, [
    {
      index: 0,
      amount_sompi: 5n,
      address: OWNER,
      script_public_key: PAY_OWNER,
      script_class: 'pubkey',
      covenant: null,
    },
    {
      index: 1,
      amount_sompi: 6n,
      address: null,
      script_public_key: '000051',
      script_class: 'nonstandard',
      covenant: null,
    },
  ])
  assert.deepEqual(parsed.tags, [])
  assert.deepEqual(parsed.details, {})
})

test('a spent output that is known gives address and amount', () => {
  const spent = {
    amount: 12n,
    scriptPublicKey: PAY_OWNER,
    covenantId: null,
    isCoinbase: null,
    blockDaaScore: null,
  }
  const { inputs } = parseTransaction(PAYMENT, { network: 'mainnet', spent: [spent] })
  assert.deepEqual(inputs, [
    { tx_id: 'cc'.repeat(32), index: 3, address: OWNER, amount_sompi: 12n, signed: true },
  ])
})

test('a coinbase has its score, subsidy and miner, and a payload of any length does no harm', () => {
  const payload = `24922d0500000000d7ab552702000000000022${PAY_OWNER.slice(4)}302e31322e37`
  const coinbase = { ...PAYMENT, inputs: [], subnetworkId: COINBASE_SUBNETWORK, payload }
  const parsed = parseTransaction(coinbase, { network: 'mainnet' })
  assert.deepEqual(parsed.tags, ['coinbase'])
  assert.deepEqual(parsed.details.coinbase, {
    confidence: 'certain',
    blue_score: 0x052d9224n,
    subsidy_sompi: 0x022755abd7n,
    miner_address: OWNER,
    extra_data: '302e31322e37',
  })
  for (let length = 0; length < 54; length++) {
    const cut = { ...coinbase, payload: payload.slice(0, length * 2) }
    const detail = parseTransaction(cut, { network: 'mainnet' }).details.coinbase
    assert.equal(detail?.blue_score, length < 53 ? null : 0x052d9224n)
  }
})

test('recorded mainnet transactions of version 0: ids, addresses and tags', {
  skip: skipWithoutKaspa,
}, () => {
  const coinbases = new Set([
    'bb62ca0e7a190daf67bb39af6f47dabb92888f21013d7bd01486e65cfbc3049c',
    '67a706e744e147dd590407386df3380a10ae11e34fdc4edee80d95a515e26d11',
    '93a568ee3192f225c6028e93d1aee17a1b21cf8298a5c5443ef7708721edc4d6',
  ])
  for (const { recorded, transaction } of mainnetClassicTransactions()) {
    const parsed = parseTransaction(transaction, { network: 'mainnet' })
    assert.equal(parsed.tx_id, recorded.verboseData.transactionId)
    assert.deepEqual(
      parsed.outputs.map((output) => output.address),
      recorded.outputs.map((output) => output.verboseData.scriptPublicKeyAddress),
    )
    assert.deepEqual(parsed.tags, coinbases.has(parsed.tx_id) ? ['coinbase'] : [], parsed.tx_id)
  }
})

const CURVE = '081249d5e7ed184782f86e9647daa7bef936d0feb14b9686b7118b4e70679c1e'
const TOKEN = 'c58c826d0aa9cee62f93208718c674883f5c89a8aca4933dc41fb0391539abe2'

interface RecordedBuy {
  inputs: { _utxo: { amount: number; address: string; covenantId: string | null } }[]
  outputs: { verboseData: { scriptPublicKeyAddress: string } }[]
}

function spentOf(json: RecordedBuy): SpentOutput[] {
  return json.inputs.map(({ _utxo }) => {
    const decoded = decodeAddress(_utxo.address)
    assert.ok(decoded.ok)
    return {
      amount: BigInt(_utxo.amount),
      scriptPublicKey: scriptOfAddress(decoded.address),
      covenantId: _utxo.covenantId,
      isCoinbase: false,
      blockDaaScore: null,
    }
  })
}

test('the recorded token purchase is a covenant execution and a token move, with and without its spent outputs', {
  skip: skipWithoutKaspa,
}, () => {
  const json = kaspaFixture<RecordedBuy>('tx/mainnet-v1-covenant-token-buy.wrpc.json')
  const transaction = transactionOf(json)
  for (const known of [false, true]) {
    const parsed = parseTransaction(transaction, {
      network: 'mainnet',
      ...(known && { spent: spentOf(json) }),
    })
    assert.equal(parsed.tx_id, '1b8ac51c7211988f36d402d6b457ea564fe8642fb3750e3638b6f3f23b334469')
    assert.deepEqual(
      parsed.outputs.map((output) => output.address),
      json.outputs.map((output) => output.verboseData.scriptPublicKeyAddress),
    )
    assert.deepEqual(parsed.tags, ['covenant', 'covenant_execution', 'native_asset', 'scriptlang'])
    assert.deepEqual(parsed.details.covenant?.covenant_ids, [CURVE, TOKEN])
    const confidence = known ? 'certain' : 'likely'
    assert.deepEqual(parsed.details.covenant_execution?.actions, [
      { kind: 'continuation', covenant_id: CURVE, inputs: [0], outputs: [0], confidence },
      { kind: 'continuation', covenant_id: TOKEN, inputs: [1], outputs: [1, 2], confidence },
    ])
    // The recording lacks the signature script of input 0; that of input 2 is a plain signature.
    assert.deepEqual(
      parsed.details.covenant_execution?.programs.map((program) => program.input),
      [1],
    )
    assert.deepEqual(parsed.details.native_asset, {
      confidence: 'hint',
      assets: [
        {
          asset_id: TOKEN,
          form: 'kcc20',
          // The owner is a covenant, which has no key.
          inputs: [
            {
              input: 1,
              owner: CURVE,
              owner_type: 'covenant',
              amount: 276_645n,
              is_minter: false,
              signed: null,
            },
          ],
          outputs: [1, 2],
          // Proven by their hashes; their sum equals the amount spent.
          states: [
            {
              form: 'kcc20',
              index: 1,
              owner: CURVE,
              owner_type: 'covenant',
              amount: 276_454n,
              is_minter: false,
            },
            {
              form: 'kcc20',
              index: 2,
              owner: 'd2bd895288611809ae15cb049ae6e1b4e83fa0198f6b6ea7ea2a37faa7f74418',
              owner_type: 'presence',
              amount: 191n,
              is_minter: false,
            },
          ],
        },
      ],
    })
    assert.deepEqual(parsed.outputs[1]?.covenant, { id: TOKEN, authorizing_input: 1 })
    assert.equal(parsed.inputs[2]?.amount_sompi, known ? 26_041_645_009n : null)
    assert.equal(parsed.inputs[2]?.signed, known ? true : null)
  }
})

test('every transaction of the recorded blocks parses; coinbases and nothing else are tagged', {
  skip: skipWithoutKaspa,
}, () => {
  const [, ...blocks] = kaspaLines<{ transactions: unknown[] }>('blocks/goref-1060-tx-265-blocks.jsonl.gz')
  let others = 0
  for (const block of blocks) {
    const parsed = block.transactions.map((json) =>
      parseTransaction(transactionOf(json), { network: 'devnet' }),
    )
    assert.deepEqual(parsed[0]?.tags, ['coinbase'])
    for (const transaction of parsed.slice(1)) {
      assert.deepEqual(transaction.tags, [])
      assert.ok(transaction.outputs.every((output) => output.address?.startsWith('kaspadev:')))
      others++
    }
  }
  assert.ok(others > 200)
})

test('random signature scripts, payloads and scripts never throw', () => {
  let seed = 5
  const random = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const hex = (max: number) => {
    const length = random(max)
    return Buffer.from(Array.from({ length }, () => random(256))).toString('hex')
  }
  for (let round = 0; round < 10_000; round++) {
    const script = hex(120)
    const framed = `${hex(3)}4c${(script.length / 2).toString(16).padStart(2, '0')}${script}`
    const version = round & 1
    parseTransaction(
      {
        ...PAYMENT,
        version,
        inputs: [
          {
            previousOutpoint: { transactionId: 'cc'.repeat(32), index: 0 },
            signatureScript: round % 3 ? framed : hex(80),
            sequence: 0n,
            sigOpCount: 0,
            computeBudget: 0,
          },
        ],
        outputs: [
          {
            value: 1n,
            scriptPublicKey: `0000${hex(40)}`,
            covenant: version ? { authorizingInput: random(3), covenantId: 'ab'.repeat(32) } : null,
          },
        ],
        payload: round % 5 ? hex(60) : `7b${hex(60)}`,
        subnetworkId: round % 7 ? NATIVE_SUBNETWORK : COINBASE_SUBNETWORK,
      },
      { network: 'testnet-10' },
    )
  }
})
