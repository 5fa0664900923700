import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressGroup } from './ip-range.ts'

test('an address counts as itself, its /64 network, or the IPv4 address that it maps', () => {
  const groups: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:192.0.2.1': '192.0.2.1',
    '::ffff:c000:201': '192.0.2.1',
    '0:0:0:0:0:ffff:c000:0201': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:0DB8:0001:0002::9': '2001:db8:1:2::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::1': '0:0:0:0::/64',
    '64:ff9b::192.0.2.1': '64:ff9b:0:0::/64',
    '': '',
    'not an address': 'not an address',
  }
  for (const [address, group] of Object.entries(groups)) assert.equal(addressGroup(address), group, address)
})
