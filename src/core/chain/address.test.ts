import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressVersion, decodeAddress, encodeAddress } from './address.ts'
import { addToChecksum, finishChecksum, startChecksum } from './address-checksum.ts'
import { hexOfBytes } from './hex.ts'
import { ADDRESS_PREFIXES, type AddressPrefix } from './network.ts'

const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'

const KNOWN: [string, AddressPrefix, AddressVersion, string][] = [
  [
    'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j',
    'kaspa',
    0,
    '7bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69',
  ],
  [
    'kaspatest:qxaqrlzlf6wes72en3568khahq66wf27tuhfxn5nytkd8tcep2c0vrse6gdmpks',
    'kaspatest',
    1,
    'ba01fc5f4e9d9879599c69a3dafdb835a7255e5f2e934e9322ecd3af190ab0f60e',
  ],
  [
    'kaspa:pzeuhfhel4csv872a46h3y4javdj2qq66j3ema5u34sjewd8z50n6jk4425s4',
    'kaspa',
    8,
    'b3cba6f9fd71061fcaed757892b2eb1b25001ad4a39df69c8d612cb9a7151f3d',
  ],
  [
    'kaspadev:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjuk8d9np7',
    'kaspadev',
    0,
    '7bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69',
  ],
]

/** An address with a valid checksum over arbitrary five-bit groups, as only a forger would produce. */
function forge(prefix: string, groups: number[]): string {
  const checksum = startChecksum(prefix)
  for (const group of groups) addToChecksum(checksum, group)
  return `${prefix}:${[...groups, ...finishChecksum(checksum)].map((value) => CHARSET[value]).join('')}`
}

function groupsOf(bytes: number[], padding = 0): number[] {
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const rest = (5 - (bits.length % 5)) % 5
  const padded = bits + padding.toString(2).padStart(rest, '0').slice(0, rest)
  return (padded.match(/.{5}/g) ?? []).map((group) => Number.parseInt(group, 2))
}

test('known addresses decode to their version and payload, and encode back', () => {
  for (const [text, prefix, version, payload] of KNOWN) {
    const decoded = decodeAddress(text)
    assert.ok(decoded.ok, text)
    assert.equal(decoded.address.prefix, prefix)
    assert.equal(decoded.address.version, version)
    assert.equal(hexOfBytes(decoded.address.payload), payload)
    assert.equal(encodeAddress(decoded.address), text)
  }
})

test('every address of random bytes survives the round trip, on every network and version', () => {
  let seed = 7
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 16) & 0xff
  }
  for (let round = 0; round < 3000; round++) {
    const prefix = ADDRESS_PREFIXES[round % 4] ?? 'kaspa'
    const version = ([0, 1, 8] as const)[round % 3] ?? 0
    const payload = Uint8Array.from({ length: version === 1 ? 33 : 32 }, random)
    const text = encodeAddress({ prefix, version, payload })
    assert.equal(text.length, prefix.length + 1 + (version === 1 ? 63 : 61))
    const decoded = decodeAddress(text)
    assert.ok(decoded.ok)
    assert.deepEqual(decoded.address, { prefix, version, payload })
  }
})

test('every change of a single character, every loss and every swap of neighbours is refused', () => {
  for (const [text] of KNOWN) {
    for (let i = 0; i < text.length; i++) {
      for (const character of `${CHARSET}1biokaspte:dvm QK\u00e9`) {
        if (character === text[i]) continue
        const changed = text.slice(0, i) + character + text.slice(i + 1)
        assert.equal(decodeAddress(changed).ok, false, changed)
      }
      assert.equal(decodeAddress(text.slice(0, i) + text.slice(i + 1)).ok, false)
      const swapped = text.slice(0, i) + (text[i + 1] ?? '') + (text[i] ?? '') + text.slice(i + 2)
      if (swapped !== text) assert.equal(decodeAddress(swapped).ok, false)
    }
  }
})

test('the reason of a refusal is given', () => {
  const reason = (text: string) => {
    const decoded = decodeAddress(text)
    return decoded.ok ? 'accepted' : decoded.reason
  }
  const payload = 'qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  assert.equal(reason(payload), 'prefix')
  assert.equal(reason(`bitcoincash:${payload}`), 'prefix')
  assert.equal(reason(`KASPA:${payload}`), 'prefix')
  assert.equal(reason(''), 'prefix')
  assert.equal(reason(`kaspa:${payload.toUpperCase()}`), 'characters')
  assert.equal(reason(`kaspatest:${payload}`), 'checksum')
  assert.equal(reason('kaspa:'), 'length')
  assert.equal(reason(`kaspa:${'q'.repeat(1_000_000)}`), 'length')
})

test('a right checksum over a wrong length, an unknown version or stray bits is refused', () => {
  const bytes = (length: number) => Array.from({ length }, (_, i) => (i * 37) & 0xff)
  const check = (groups: number[], reason: string) => {
    const decoded = decodeAddress(forge('kaspa', groups))
    assert.equal(decoded.ok ? 'accepted' : decoded.reason, reason)
  }
  assert.ok(decodeAddress(forge('kaspa', groupsOf([0, ...bytes(32)]))).ok)
  for (const length of [0, 1, 20, 31, 33, 34, 40]) check(groupsOf([0, ...bytes(length)]), 'length')
  for (const length of [0, 31, 32, 34]) check(groupsOf([1, ...bytes(length)]), 'length')
  for (const length of [31, 33]) check(groupsOf([8, ...bytes(length)]), 'length')
  for (const version of [2, 3, 7, 9, 16, 128, 255]) check(groupsOf([version, ...bytes(32)]), 'version')
  check(groupsOf([0, ...bytes(32)], 1), 'length')
  for (const stray of [1, 4, 7]) check(groupsOf([1, ...bytes(33)], stray), 'length')
  check([...groupsOf([0, ...bytes(32)]), 0], 'length')
})

test('random text never throws', () => {
  let seed = 99
  const random = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed % below
  }
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: random(90) }, () => String.fromCharCode(random(300))).join('')
    assert.equal(decodeAddress(round % 2 ? text : `kaspa:${text}`).ok, false)
  }
})

test('encoding a payload of the wrong length is a fault of the caller', () => {
  assert.throws(() => encodeAddress({ prefix: 'kaspa', version: 0, payload: new Uint8Array(31) }), RangeError)
})
