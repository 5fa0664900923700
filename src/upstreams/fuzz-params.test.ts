/** Random and mutated requests: nothing throws, and a node can read everything that passes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAnyAddress } from '../../test/fakes/address-oracle.ts'
import { deserialises, SHAPES } from '../../test/fakes/wrpc-shapes.ts'
import { parseExact } from '../kit/exact-json.ts'
import { validateParams } from './validate-params.ts'

const ROUNDS = process.env.TAPELINE_SOAK ? 100_000 : 3_000
const SEED = 20_260_711

function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const HASH = '0f'.repeat(32)
const ADDRESS = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
const TX = `{"version":0,"inputs":[{"previousOutpoint":{"transactionId":"${HASH}","index":0},"signatureScript":"41","sequence":18446744073709551615,"sigOpCount":1}],"outputs":[{"value":100,"scriptPublicKey":{"version":0,"script":"20ac"}}],"lockTime":0,"subnetworkId":"${'00'.repeat(20)}","gas":0,"payload":"","mass":0}`
const HEADER = `{"version":2,"parentsByLevel":[["${HASH}"]],"hashMerkleRoot":"${HASH}","acceptedIdMerkleRoot":"${HASH}","utxoCommitment":"${HASH}","timestamp":1,"bits":2,"nonce":18446744073709551615,"daaScore":3,"blueWork":"ff","blueScore":4,"pruningPoint":"${HASH}"}`

const GOOD: Record<string, string> = {
  getBlock: `{"hash":"${HASH}","includeTransactions":true}`,
  getBalanceByAddress: `{"address":"${ADDRESS}"}`,
  getUtxosByAddresses: `{"addresses":["${ADDRESS}","${ADDRESS}"]}`,
  getBlockTemplate: `{"payAddress":"${ADDRESS}","extraData":[1,2,255]}`,
  getDaaScoreTimestampEstimate: '{"daaScores":[1,18446744073709551615]}',
  getVirtualChainFromBlockV2: `{"startHash":"${HASH}","dataVerbosityLevel":"Full","minConfirmationCount":10}`,
  getMempoolEntry: `{"transactionId":"${HASH}"}`,
  submitTransaction: `{"transaction":${TX},"allowOrphan":false}`,
  submitTransactionReplacement: `{"transaction":${TX}}`,
  submitBlock: `{"block":{"header":${HEADER},"transactions":[${TX}]},"allowNonDaaBlocks":false}`,
}
const NAMES = [
  ...Object.keys(SHAPES),
  'subscribe',
  'shutdown',
  'notifyBlockAdded',
  'noOp',
  'x',
  '__proto__',
  'toString',
]
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  'null',
  'true',
  '0',
  '-1',
  '1e5',
  '1.5',
  '18446744073709551616',
  '9007199254740993',
  '"kaspa:"',
  `"${HASH}"`,
  '{"version":"0","script":"20"}',
  '{"version":0,"script":7}',
  '"__proto__":',
  '\u0000',
  'é',
  '\ud800',
  '[]',
  '{}',
]

function mutate(text: string, random: (below: number) => number): string {
  let mutated = text
  for (let times = random(4); times > 0; times--) {
    const at = random(mutated.length + 1)
    const length = random(4) === 0 ? random(40) : random(3)
    const piece = random(3) === 0 ? String.fromCharCode(random(128)) : (PIECES[random(PIECES.length)] ?? '')
    mutated = mutated.slice(0, at) + (random(4) === 0 ? '' : piece) + mutated.slice(at + length)
  }
  if (random(8) === 0) {
    const killer = encodeAnyAddress('kaspa', [0, 1, 8, 3][random(4)] ?? 0, new Uint8Array(random(50)))
    mutated = mutated.replace(ADDRESS, killer)
  }
  return mutated
}

test(`${ROUNDS} random requests (seed ${SEED}): none throws, none that passes is malformed`, () => {
  const random = generator(SEED)
  const seen = { unparsed: 0, refused: 0, passed: 0 }
  const goods = Object.entries(GOOD)
  for (let i = 0; i < ROUNDS; i++) {
    const [goodName, goodText] = goods[random(goods.length)] ?? ['ping', '{}']
    const name = random(5) === 0 ? (NAMES[random(NAMES.length)] ?? '') : goodName
    const text = mutate(goodText, random)
    const read = parseExact(text, { maxDepth: 32, maxChars: 1_000_000 })
    if (!read.ok) {
      seen.unparsed++
      continue
    }
    assert.doesNotThrow(() => JSON.parse(text), 'accepted text that is not JSON')
    const prepared = validateParams(name, read.value, 'mainnet')
    if (!prepared.ok) {
      seen.refused++
      assert.ok(prepared.kind !== 'invalid_params' || prepared.faults.length > 0)
      continue
    }
    seen.passed++
    assert.ok(deserialises(name, prepared.call.paramsText), `${name} ${prepared.call.paramsText}`)
  }
  // The fuzz is meaningful only if all three outcomes occur often.
  assert.ok(Math.min(seen.unparsed, seen.refused, seen.passed) > ROUNDS / 20, JSON.stringify(seen))
})

test('every good request of the fuzz passes unmutated', () => {
  for (const [name, text] of Object.entries(GOOD)) {
    const read = parseExact(text)
    assert.ok(read.ok)
    assert.ok(validateParams(name, read.value, 'mainnet').ok, name)
  }
})
