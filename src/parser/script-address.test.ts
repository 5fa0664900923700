import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kaspaFixture, skipWithoutKaspa } from '../../test/kaspa-fixtures.ts'
import { mainnetClassicTransactions } from '../../test/kaspa-grpc.ts'
import { decodeAddress, encodeAddress } from '../core/chain/address.ts'
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import type { AddressPrefix, Network } from '../core/chain/network.ts'
import { addressOfRedeemScript, addressOfScript, scriptOfAddress } from './script-address.ts'
import { classifyScript } from './script-class.ts'

const NETWORK_OF: Record<AddressPrefix, Network> = {
  kaspa: 'mainnet',
  kaspatest: 'testnet-10',
  kaspasim: 'simnet',
  kaspadev: 'devnet',
}

interface AddressVectors {
  valid: { address: string; prefix: AddressPrefix; version: number; payload: string; script: string }[]
  invalid: { address: string; error: string }[]
}

test('every published address vector holds in both directions', { skip: skipWithoutKaspa }, () => {
  const vectors = kaspaFixture<AddressVectors>('vectors/address-vectors.json')
  assert.equal(vectors.valid.length, 11)
  for (const vector of vectors.valid) {
    const decoded = decodeAddress(vector.address)
    assert.ok(decoded.ok, vector.address)
    assert.equal(decoded.address.prefix, vector.prefix)
    assert.equal(decoded.address.version, vector.version)
    assert.equal(hexOfBytes(decoded.address.payload), vector.payload)
    assert.equal(encodeAddress(decoded.address), vector.address)
    assert.equal(scriptOfAddress(decoded.address), `0000${vector.script}`)
    assert.equal(addressOfScript(`0000${vector.script}`, NETWORK_OF[vector.prefix]), vector.address)
  }
})

test('every published invalid address is refused for the published reason', {
  skip: skipWithoutKaspa,
}, () => {
  const reasons: Record<string, string> = {
    "DecodingError('1')": 'characters',
    InvalidPrefix: 'prefix',
    MissingPrefix: 'prefix',
    BadChecksum: 'checksum',
  }
  for (const { address, error } of kaspaFixture<AddressVectors>('vectors/address-vectors.json').invalid) {
    const decoded = decodeAddress(address)
    assert.equal(decoded.ok ? 'accepted' : decoded.reason, reasons[error], address)
  }
})

test('119 recorded outputs have the address and class that the node gave them', {
  skip: skipWithoutKaspa,
}, () => {
  let outputs = 0
  for (const { recorded, transaction } of mainnetClassicTransactions()) {
    for (const [index, output] of transaction.outputs.entries()) {
      const verbose = recorded.outputs[index]?.verboseData
      assert.equal(addressOfScript(output.scriptPublicKey, 'mainnet'), verbose?.scriptPublicKeyAddress)
      assert.equal(classifyScript(output.scriptPublicKey), verbose?.scriptPublicKeyType)
      outputs++
    }
  }
  assert.equal(outputs, 119)
})

test('a script that only resembles a standard form has no address', () => {
  const key = '7b'.repeat(32)
  const near = [
    '0000',
    `000120${key}ac`,
    `000020${key}ab`,
    `000020${key}ac61`,
    `000021${key}ab`,
    `000021${key}00ac`,
    `0000aa20${key}88`,
    `0000ab20${key}87`,
    `0000aa21${key}87`,
  ]
  for (const script of near) {
    assert.equal(classifyScript(script), 'nonstandard', script)
    assert.equal(addressOfScript(script, 'mainnet'), null)
  }
})

test('a redeem script has the script-hash address of its hash', () => {
  const redeem = bytesOfHex(
    '201bacea84ca721c95d67ecace19bc499a77c03726bc8739af637bcd89abaaf058ac0063076b6173706c6578004c8a7b2270223a226b72632d3230222c226f70223a227472616e73666572222c227469636b223a224b415350222c22616d74223a2231303030303030303030222c22746f223a226b617370613a7171643665363579656665706539776b306d39767578647566786438307370687936376777776430766461756d7a64743474633973337174306c716568227d68',
  )
  assert.equal(
    addressOfRedeemScript(redeem, 'mainnet'),
    'kaspa:pp7e8gcrcggyv839lla8etxww8duyz6tw9ugq02ru2fgjqhfnxjgz7nsc3hmx',
  )
})
