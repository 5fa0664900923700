/**
 * KRC-20 operations of several keys, of owners without an address, and in the payload. The expected results are written
 * by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressOfScript,
  envelope as envelopeOf,
  push,
  scriptOfProgram,
} from '../../../test/fakes/krc20-scripts.ts'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../../core/chain/transaction.ts'
import { parseTransaction } from '../../parser/parse-transaction.ts'
import { hash } from '../../store/conformance/chain-engine.ts'
import { holderKey, type TokenFacts, tokenKey } from '../../store/tokens.ts'
import { feeOf } from '../index-address.ts'
import { applyCovenantTokens } from './covenant-tokens.ts'
import { readTokens, type TokenTransaction } from './index-tokens.ts'
import { applyKrc20 } from './krc20-rules.ts'
import { TokenEntries } from './token-entries.ts'

const NETWORK = 'testnet-10'
const KAS = 100_000_000n
const [KEY, SECOND, OTHER] = ['a1', 'b2', 'c3'].map((byte) => byte.repeat(32))
const SEVERAL_KEYS = `5220${KEY}20${SECOND}52ae`
const SEVERAL = addressOfScript(scriptOfProgram(SEVERAL_KEYS))
const BUYER = addressOfScript(`20${OTHER}ac`)
const TICK = 'AAAA'

const envelope = (members: Record<string, string>) => envelopeOf(SEVERAL_KEYS, members)

interface Drafted {
  readonly n: number
  /** The program that the first input reveals; without it, the input spends `owner`'s output. */
  readonly program?: string
  readonly owner?: string
  readonly payload?: Record<string, string>
  readonly fee?: bigint
  readonly outputs?: readonly string[]
  readonly spends?: string
  readonly isSpentKnown?: boolean
}

function transactionOf(drafted: Drafted): TokenTransaction {
  const { n, program, payload, fee = 1_000n * KAS, outputs = [`20${OTHER}ac`] } = drafted
  const { owner = `20${KEY}ac`, spends = hash(900_000 + n), isSpentKnown = true } = drafted
  const script = program === undefined ? owner : scriptOfProgram(program)
  const signature = `41${'00'.repeat(64)}01`
  const transaction: Transaction = {
    version: 0,
    inputs: [
      {
        previousOutpoint: { transactionId: spends, index: 0 },
        signatureScript: signature + (program === undefined ? '' : push(program)),
        sequence: 0n,
        sigOpCount: 2,
        computeBudget: 0,
      },
    ],
    outputs: outputs.map((output) => ({ value: KAS, scriptPublicKey: `0000${output}`, covenant: null })),
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: payload ? Buffer.from(JSON.stringify({ p: 'krc-20', ...payload })).toString('hex') : '',
    storageMass: 0n,
  }
  const amount = KAS * BigInt(outputs.length) + fee
  const known = { amount, scriptPublicKey: `0000${script}` }
  const spent: (SpentOutput | null)[] = isSpentKnown
    ? [{ ...known, covenantId: null, isCoinbase: false, blockDaaScore: null }]
    : []
  const parsed = parseTransaction(transaction, { network: NETWORK, spent, txId: hash(n) })
  return { parsed, spent, fee: feeOf(parsed), blockTimeMs: n }
}

/** The entries and moves left after these transactions were applied in order. */
async function after(...drafted: Drafted[]) {
  const transactions = drafted.map(transactionOf)
  const apply = await readTokens(transactions, { store: NO_STORE, network: NETWORK, without: undefined })
  const left = new Map<string, string | undefined>()
  const moved: boolean[] = []
  for (const transaction of transactions) {
    const { changes, moves } = apply(transaction)
    for (const change of changes) left.set(change.key, change.after?.value)
    moved.push(moves.length > 0)
  }
  const facts = (token: string) => {
    const value = left.get(tokenKey(token))
    return value === undefined ? undefined : (JSON.parse(value) as TokenFacts)
  }
  const held = (holder: string, token = TICK) => {
    const value = left.get(holderKey(token, holder))
    if (value === undefined) return [0, 0]
    const { balance, locked } = JSON.parse(value) as Record<string, string>
    return [Number(balance), Number(locked)]
  }
  return { facts, held, moved }
}

/** Never read, because the step forgets all entries. */
const NO_STORE = {} as Parameters<typeof readTokens>[1]['store']

const DEPLOY: Drafted = { n: 1, program: envelope({ op: 'deploy', tick: TICK, max: '1000', lim: '100' }) }
const MINT: Drafted = { n: 2, program: envelope({ op: 'mint', tick: TICK }) }

test('several keys deploy, mint and transfer as one address, and the token stays known', async () => {
  const { facts, held, moved } = await after(DEPLOY, MINT, {
    n: 3,
    program: envelope({ op: 'transfer', tick: TICK, amt: '30', to: BUYER }),
  })
  assert.deepEqual(moved, [true, true, true])
  assert.equal(facts(TICK)?.history, 'since_deploy')
  assert.deepEqual([facts(TICK)?.krc20?.deployer, facts(TICK)?.krc20?.owner], [SEVERAL, SEVERAL])
  assert.deepEqual(
    [held(SEVERAL), held(BUYER)],
    [
      [70, 0],
      [30, 0],
    ],
  )
})

test('an output of several keys carries an operation in the payload as the same address', async () => {
  const { held, moved } = await after(DEPLOY, MINT, {
    n: 3,
    program: SEVERAL_KEYS,
    payload: { op: 'transfer', tick: TICK, amt: '30', to: BUYER },
  })
  assert.deepEqual(moved, [true, true, true])
  assert.deepEqual(
    [held(SEVERAL), held(BUYER)],
    [
      [70, 0],
      [30, 0],
    ],
  )
})

test('several keys list an amount for sale, by envelope and by payload, and a buyer gets it', async () => {
  const sale = envelope({ op: 'send', tick: 'aaaa' })
  const offer = { op: 'list', tick: TICK, amt: '40' }
  const outputs = [scriptOfProgram(sale)]
  for (const listed of [
    { n: 3, program: envelope(offer), outputs },
    { n: 3, program: SEVERAL_KEYS, payload: offer, outputs },
  ]) {
    const open = await after(DEPLOY, MINT, listed)
    assert.deepEqual(open.held(SEVERAL), [60, 40])
    const bought = { n: 4, program: sale, spends: hash(3), outputs: [`20${KEY}ac`, `20${OTHER}ac`] }
    const sold = await after(DEPLOY, MINT, listed, bought)
    assert.deepEqual(
      [sold.held(SEVERAL), sold.held(BUYER)],
      [
        [60, 0],
        [40, 0],
      ],
    )
    // The output of an order with somebody else's keys pays to another address.
    const foreign = scriptOfProgram(envelopeOf(`20${KEY}ac`, { op: 'send', tick: 'aaaa' }))
    const wrong = await after(DEPLOY, MINT, { ...listed, outputs: [foreign] })
    assert.deepEqual(wrong.held(SEVERAL), [100, 0])
  }
})

test('an order is not executed by a payload, and a faulty payload replaces nothing', async () => {
  const sale = envelope({ op: 'send', tick: 'aaaa' })
  const listed = {
    n: 3,
    program: envelope({ op: 'list', tick: TICK, amt: '40' }),
    outputs: [scriptOfProgram(sale), scriptOfProgram(SEVERAL_KEYS)],
  }
  const send = { n: 4, program: SEVERAL_KEYS, payload: { op: 'send', tick: TICK }, spends: hash(3) }
  assert.deepEqual((await after(DEPLOY, MINT, listed, send)).held(SEVERAL), [60, 40])
  const faulty = { ...MINT, payload: { op: 'transfer', tick: TICK, amt: '-1', to: BUYER } }
  assert.deepEqual((await after(DEPLOY, faulty)).held(SEVERAL), [100, 0])
  const replaced = { ...MINT, payload: { op: 'mint', tick: TICK, to: BUYER } }
  const { held } = await after(DEPLOY, replaced)
  assert.deepEqual(
    [held(SEVERAL), held(BUYER)],
    [
      [0, 0],
      [100, 0],
    ],
  )
})

test('a payload that fails only when it runs replaces what is shown; one that is not taken in does not', async () => {
  const replacing = [
    { op: 'transfer', tick: TICK, amt: '1', to: 'nobody' },
    { op: 'mint', tick: TICK, to: 'nobody' },
  ]
  for (const payload of replacing) {
    const { held, moved } = await after(DEPLOY, { ...MINT, payload })
    assert.deepEqual(
      [held(SEVERAL), moved],
      [
        [0, 0],
        [true, false],
      ],
      payload.op,
    )
  }
  const kept = [
    { op: 'transfer', tick: TICK, amt: '1' },
    { op: 'blacklist', ca: hash(1), mod: 'add', to: BUYER },
  ]
  for (const payload of kept)
    assert.deepEqual((await after(DEPLOY, { ...MINT, payload })).held(SEVERAL), [100, 0], payload.op)
  // A sale to an output without an address does not count, so the payload does.
  const sale = envelope({ op: 'send', tick: 'aaaa' })
  const payload = { op: 'mint', tick: TICK, to: BUYER }
  for (const [buyer, minted] of [
    [`20${OTHER}ac`, 0],
    ['51', 100],
  ] as const) {
    const { held } = await after(DEPLOY, { n: 3, program: sale, payload, outputs: [`20${KEY}ac`, buyer] })
    assert.deepEqual(held(BUYER), [minted, 0], buyer)
  }
})

test('an operation that names a covenant token changes nothing of it; a covenant takes its place over', async () => {
  const id = hash(77)
  const facts: TokenFacts = {
    ...{ form: 'kcc20', history: 'revealed', operations: 3, holders: 1, firstSeenMs: 1, firstTxId: hash(5) },
    proven: { amount: '7', outputs: 1 },
  }
  const entries = new TokenEntries(new Map())
  entries.setToken(id, facts)
  const shown = transactionOf({
    n: 9,
    program: envelope({ op: 'transfer', ca: id, amt: '1', to: BUYER }),
  }).parsed.details.krc20?.operations[0]
  assert.ok(shown)
  const call = { ...shown, keyCheck: '', signed: null, spentTxId: '' }
  const context = { txId: hash(9), network: NETWORK, timeMs: 9, fee: 0n, outputs: [] } as const
  assert.equal(applyKrc20(call, context, entries), null)
  assert.deepEqual(entries.token(id), facts)
  // The operation comes first, and the covenant still becomes a token.
  const early = new TokenEntries(new Map())
  assert.equal(applyKrc20(call, context, early)?.isValid, null)
  const { parsed } = transactionOf({ n: 10 })
  const asset = { asset_id: id, form: 'kcc20', inputs: [], states: [] }
  const shows = { ...parsed, details: { native_asset: { assets: [asset] } } } as unknown as typeof parsed
  applyCovenantTokens(shows, [], { network: NETWORK, timeMs: 10 }, early)
  assert.deepEqual([early.token(id)?.form, early.token(id)?.history], ['kcc20', 'revealed'])
})

test('an owner without an address can only mint for others; an unknown one makes the token unknown', async () => {
  const owner = '51'
  const transfer = { op: 'transfer', tick: TICK, amt: '30', to: BUYER }
  for (const payload of [transfer, { op: 'mint', tick: TICK }, { op: 'burn', tick: TICK, amt: '1' }]) {
    const { facts, moved } = await after(DEPLOY, { n: 3, owner, payload })
    assert.deepEqual(moved, [true, false], payload.op)
    assert.equal(facts(TICK)?.history, 'since_deploy')
  }
  const given = await after(DEPLOY, { n: 3, owner, payload: { op: 'mint', tick: TICK, to: BUYER } })
  assert.deepEqual(given.held(BUYER), [100, 0])
  const { facts } = await after(DEPLOY, { n: 3, payload: transfer, isSpentKnown: false })
  assert.equal(facts(TICK)?.history, 'unknown')
})

test('a deployment whose owner would have no address is refused', async () => {
  const members = { op: 'deploy', tick: TICK, max: '1000', lim: '100', to: 'nobody' }
  for (const each of [members, { ...members, pre: '5' }])
    assert.equal((await after({ n: 1, program: envelope(each) })).facts(TICK), undefined)
  const { to: _, ...unnamed } = members
  assert.equal((await after({ n: 1, owner: '51', payload: unnamed })).facts(TICK), undefined)
  const large = { ...members, to: BUYER, pre: `1${'0'.repeat(32)}` }
  assert.deepEqual((await after({ n: 1, program: envelope(large) })).held(BUYER), [1000, 0])
})

test('blacklist refuses every call, of a token that is not known too', async () => {
  const members = { op: 'blacklist', ca: hash(77), mod: 'add', to: BUYER }
  const { facts, moved } = await after({ n: 1, program: envelope(members) })
  assert.deepEqual([facts(hash(77)), moved], [undefined, [false]])
})
