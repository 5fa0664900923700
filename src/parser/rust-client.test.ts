/**
 * The parser against the original Rust code: the node's address, script and id functions as its client package contains
 * them (version 0 only, because the package is older than version 1).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import kaspa from 'kaspa-wasm32-sdk'
import { type AddressVersion, decodeAddress, encodeAddress } from '../core/chain/address.ts'
import { hexOfBytes } from '../core/chain/hex.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { readTransaction } from '../core/chain/transaction-json.ts'
import { addressOfRedeemScript, addressOfScript, scriptOfAddress } from './script-address.ts'
import { transactionId } from './transaction-id.ts'

const NETWORKS: Network[] = ['mainnet', 'testnet-10', 'simnet', 'devnet']
const VERSIONS: AddressVersion[] = [0, 1, 8]

function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('addresses and scripts of random keys are those of the Rust code, on every network', () => {
  const random = randomFrom(11)
  for (let round = 0; round < 600; round++) {
    const network = NETWORKS[round % 4] ?? 'mainnet'
    const version = VERSIONS[round % 3] ?? 0
    const payload = Uint8Array.from({ length: version === 1 ? 33 : 32 }, () => random(256))
    const text = encodeAddress({ prefix: networkInfo(network).addressPrefix, version, payload })
    const theirs = new kaspa.Address(text)
    assert.equal(theirs.toString(), text)
    const script = kaspa.payToAddressScript(text)
    const decoded = decodeAddress(text)
    assert.ok(decoded.ok)
    assert.equal(scriptOfAddress(decoded.address), `0000${script.script}`)
    assert.equal(kaspa.addressFromScriptPublicKey(script, network)?.toString(), text)
    assert.equal(addressOfScript(`0000${script.script}`, network), text)
  }
})

test('the script hash of a random program is that of the Rust code', () => {
  const random = randomFrom(12)
  for (let round = 0; round < 100; round++) {
    const program = Uint8Array.from({ length: 1 + random(400) }, () => random(256))
    const script = kaspa.payToScriptHashScript(hexOfBytes(program))
    assert.equal(
      addressOfRedeemScript(program, 'mainnet'),
      kaspa.addressFromScriptPublicKey(script, 'mainnet')?.toString(),
    )
  }
})

test('ids of random transactions are those of the Rust code', () => {
  const random = randomFrom(13)
  const hex = (bytes: number) => Buffer.from(Array.from({ length: bytes }, () => random(256))).toString('hex')
  const u64 = () => BigInt(`0x${hex(8)}`)
  for (let round = 0; round < 200; round++) {
    const json = {
      version: 0,
      inputs: Array.from({ length: random(4) }, () => ({
        previousOutpoint: { transactionId: hex(32), index: random(1000) },
        signatureScript: hex(random(150)),
        sequence: u64(),
        sigOpCount: random(20),
      })),
      outputs: Array.from({ length: random(5) }, () => ({
        value: u64(),
        scriptPublicKey: `0000${hex(random(60))}`,
      })),
      lockTime: u64(),
      subnetworkId: round % 3 ? '00'.repeat(20) : hex(20),
      gas: u64(),
      payload: hex(random(300)),
      mass: 0,
    }
    const read = readTransaction(json)
    assert.ok(read.ok)
    // The package's types require members that it does not need.
    const theirs = new kaspa.Transaction(json as never)
    assert.equal(transactionId(read.transaction), String(theirs.finalize()), JSON.stringify(json, text))
  }
})

function text(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
