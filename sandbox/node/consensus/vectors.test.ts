/** The simulator's own hashing, addresses, masses and signature hashes against published vectors and real blocks. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { parseExact } from '../rpc/json.ts'
import { readTransaction } from '../rpc/read-transaction.ts'
import { verifyScripts } from '../script/engine.ts'
import { addressOfScript, decodeAddress, encodeAddress, scriptOfAddress } from './address.ts'
import { fromHex } from './bytes.ts'
import { genesisCovenantId, hashMerkleRoot, headerHash, transactionHash, transactionId } from './hashing.ts'
import { computeMass, storageMass } from './mass.ts'
import { type Header, outpointKey, type Tx, type TxBody, type UtxoEntry } from './model.ts'

const fixtures = join(
  process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '../../../../shared/fixtures'),
  'kaspa',
)
const skip = existsSync(fixtures) ? false : 'fixtures are not here'
const read = (path: string) => readFileSync(join(fixtures, path), 'utf8')

interface Loose {
  [key: string]: unknown
}

const bodyOf = (raw: unknown): TxBody => {
  const tx = structuredClone(raw) as Loose
  tx.storageMass ??= 0
  for (const input of tx.inputs as Loose[]) {
    input.computeBudget ??= 0
    if (tx.version !== 0) input.sigOpCount = 0
  }
  return readTransaction(tx)
}

test('a P2PK address and its script convert both ways', () => {
  const payload = fromHex('7bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69')
  const address = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  assert.equal(encodeAddress('kaspa', 0, payload), address)
  const decoded = decodeAddress(address)
  assert.ok(decoded.ok)
  assert.equal(addressOfScript('kaspa', scriptOfAddress(decoded)), address)
})

test('address vectors: valid ones decode to their script, invalid ones do not decode', { skip }, () => {
  const vectors = JSON.parse(read('vectors/address-vectors.json')) as {
    valid: { address: string; script: string }[]
    invalid: { address: string }[]
  }
  for (const { address, script } of vectors.valid) {
    const decoded = decodeAddress(address)
    assert.ok(decoded.ok, address)
    assert.equal(scriptOfAddress(decoded), `0000${script}`)
    assert.equal(addressOfScript(decoded.prefix, `0000${script}`), address)
  }
  for (const { address } of vectors.invalid) assert.equal(decodeAddress(address).ok, false, address)
})

test('transaction id and hash vectors, v0 and v1', { skip }, () => {
  const vectors = parseExact(read('vectors/txid-vectors.json')) as Loose[]
  for (const vector of vectors) {
    const body = bodyOf(vector.tx)
    assert.equal(transactionId(body), vector.expectedId, `id ${vector.n}`)
    assert.equal(transactionHash(body), vector.expectedHash, `hash ${vector.n}`)
  }
  assert.ok(vectors.length >= 12)
})

test('storage mass vectors', { skip }, () => {
  const vectors = JSON.parse(read('vectors/mass-vectors.json')) as {
    storageMass: { inputs: number[]; outputs: number[]; expected: number }[]
  }
  const scriptPublicKey = `000020${'00'.repeat(32)}ac`
  for (const { inputs, outputs, expected } of vectors.storageMass) {
    const body = {
      subnetworkId: '00'.repeat(20),
      outputs: outputs.map((value) => ({ value: BigInt(value), scriptPublicKey, covenant: null })),
    } as unknown as TxBody
    const spent = inputs.map((amount) => ({ amount: BigInt(amount), scriptPublicKey, covenantId: null }))
    assert.equal(storageMass(body, spent), BigInt(expected))
  }
})

test('266 recorded blocks: header hashes, merkle roots, and every recorded signature verifies', {
  skip,
}, () => {
  const lines = gunzipSync(readFileSync(join(fixtures, 'blocks/goref-1060-tx-265-blocks.jsonl.gz')))
    .toString()
    .trim()
    .split('\n')
  const outputs = new Map<string, UtxoEntry>()
  const spends: TxBody[] = []
  for (const line of lines.slice(1)) {
    const block = parseExact(line) as { header: Loose; transactions: unknown[] }
    const h = block.header
    const header = {
      ...h,
      nonce: BigInt(h.nonce as number),
      daaScore: BigInt(h.daaScore as number),
      blueScore: BigInt(h.blueScore as number),
      blueWork: BigInt(`0x${h.blueWork}`),
    } as unknown as Header
    assert.equal(headerHash(header), h.hash)
    const txs = block.transactions.map((raw) => {
      const body = bodyOf(raw)
      return { ...body, id: transactionId(body), hash: transactionHash(body), computeMass: 0 } as Tx
    })
    assert.equal(hashMerkleRoot(txs), h.hashMerkleRoot)
    for (const tx of txs) {
      tx.outputs.forEach((output, index) => {
        outputs.set(outpointKey({ transactionId: tx.id, index }), {
          amount: output.value,
          scriptPublicKey: output.scriptPublicKey,
          blockDaaScore: 0n,
          isCoinbase: false,
          covenantId: null,
        })
      })
      if (tx.inputs.length > 0) spends.push(tx)
    }
  }
  const verified = spends.slice(0, 40)
  for (const tx of verified) {
    const entries = tx.inputs.map((input) => outputs.get(outpointKey(input.previousOutpoint)))
    verifyScripts(tx, entries as UtxoEntry[])
  }
  assert.equal(verified.length, 40)
})

test('a signature that was changed by one bit does not verify', { skip }, () => {
  const block = parseExact(read('blocks/sample-block-with-spends.json')) as { transactions: unknown[] }
  const body = bodyOf(block.transactions[1])
  const input = body.inputs[0]
  assert.ok(input)
  const script = input.signatureScript
  input.signatureScript = script.slice(0, 20) + (script[20] === '0' ? '1' : '0') + script.slice(21)
  const entry: UtxoEntry = {
    amount: 44000000000n,
    scriptPublicKey: '000020e63b898663154e30b07da88a2a715908d05334b8565d6573e0313dc3eda9738cac',
    blockDaaScore: 0n,
    isCoinbase: true,
    covenantId: null,
  }
  assert.throws(() => verifyScripts(body, [entry]), /false stack entry/)
})

test('the groups of a recorded covenant transaction are continuations, not genesis', { skip }, () => {
  const body = bodyOf(parseExact(read('tx/mainnet-v1-covenant-token-buy.wrpc.json')))
  assert.equal(transactionId(body).length, 64)
  const group = body.outputs
    .map((output, index) => ({ output, index }))
    .filter(({ output }) => output.covenant?.authorizingInput === 0)
  const [first] = body.inputs
  assert.ok(first && group[0])
  assert.notEqual(genesisCovenantId(first.previousOutpoint, group), group[0].output.covenant?.covenantId)
  assert.ok(computeMass(body) > 0)
})
