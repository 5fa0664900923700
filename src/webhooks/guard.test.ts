/** Proves that only public HTTPS targets are reached, whatever form the target is written in. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { createGuard, TargetError } from './guard.ts'
import { classifyAddress } from './public-address.ts'

const publicNames = async () => [{ address: '93.184.216.34', family: 4 }]
const strict = createGuard({ allowPrivate: false, resolve: publicNames })

const REFUSED_URLS = [
  'http://example.com/hook',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com:6379/_x',
  'javascript:alert(1)',
  '//example.com/hook',
  'example.com/hook',
  'https:/example.com',
  'https://',
  'https://user@example.com/',
  'https://user:secret@example.com/',
  'https://@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com\\@127.0.0.1/',
  'https://example.com\t.evil/',
  'https://exam\u200bple.com/',
  'https://example.com:80/',
  'https://example.com:22/',
  'https://example.com:25/',
  'https://example.com:0/',
  'https://example.com:1023/',
  'https://example.com:65536/',
  'https://localhost/',
  'https://LOCALHOST:8443/',
  'https://localhost./',
  'https://a.localhost/',
  'https://printer.local/',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://intranet/',
  'https://router.home.arpa/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://１２７.０.０.１/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://0.0.0.0/',
  'https://0/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://100.100.100.200/latest/meta-data',
  'https://169.254.169.254/latest/meta-data/',
  'https://0xA9FEA9FE/',
  'https://168.63.129.16/',
  'https://192.0.0.1/',
  'https://192.0.2.1/',
  'https://192.88.99.1/',
  'https://198.18.0.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::ffff:7f00:1]/',
  'https://[::127.0.0.1]/',
  'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b:1::a9fe:a9fe]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[2001:db8::1]/',
  'https://[2606:4700::5efe:7f00:1]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://[ff02::1]/',
  'https://[3fff::1]/',
  'https://[100::1]/',
  'https://[5f00::1]/',
  'https://a..b/',
  `https://example.com/${'x'.repeat(2_048)}`,
]

describe('a target is refused at creation', () => {
  for (const target of REFUSED_URLS) {
    test(target.length > 80 ? `${target.slice(0, 40)}… (${target.length} characters)` : target, async () => {
      await assert.rejects(strict.check(target), TargetError)
    })
  }
})

describe('a public target is taken', () => {
  for (const target of [
    'https://example.com/hook',
    'https://example.com:8443/hook?a=b',
    'https://EXAMPLE.com./',
    'https://münchen.example/hook',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/',
  ]) {
    test(target, async () => {
      await strict.check(target)
    })
  }
})

describe('a name is refused when any of its addresses is', () => {
  const NASTY_ADDRESSES = [
    ['127.0.0.1'],
    ['93.184.216.34', '10.0.0.5'],
    ['93.184.216.34', '::1'],
    ['::ffff:93.184.216.34'],
    ['64:ff9b::808:808'],
    ['fe80::1%eth0'],
    ['169.254.169.254'],
    ['2002:a9fe:a9fe::1'],
    ['not-an-address'],
    [],
  ]
  for (const addresses of NASTY_ADDRESSES) {
    test(`[${addresses.join(', ')}]`, async () => {
      const resolve = async () =>
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      const guard = createGuard({ allowPrivate: false, resolve })
      await assert.rejects(guard.check('https://nasty.example/'), TargetError)
      assert.ok((await connectError(guard, 'https:')) instanceof TargetError)
    })
  }
})

test('a name that is public at creation and private at delivery is not connected to', async () => {
  let asked = 0
  const server = createServer((_request, response) => response.end('reached'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const guard = createGuard({
      allowPrivate: false,
      resolve: async () => [{ address: asked++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }],
    })
    const { port } = server.address() as AddressInfo
    await guard.check(`https://rebinding.example:${port}/`)
    const error = await connectError(guard, 'https:')
    assert.ok(error instanceof TargetError, String(error))
    assert.equal(error.message, 'the host has an address that is not public')
  } finally {
    server.close()
  }
})

test('where private targets are allowed, plain http is allowed there and nowhere else', async () => {
  const guard = createGuard({ allowPrivate: true, resolve: publicNames })
  for (const target of [
    'http://127.0.0.1:9000/',
    'https://10.1.2.3/',
    'http://[fd12::1]:9000/',
    'http://[::1]:8080/',
  ]) {
    await guard.check(target)
  }
  for (const target of [
    'http://93.184.216.34:8080/',
    'http://example.com:8080/',
    'http://169.254.169.254:8080/',
    'http://0.0.0.0:8080/',
    'http://100.100.100.200:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://127.0.0.1:22/',
    'http://user@127.0.0.1:8080/',
  ]) {
    await assert.rejects(guard.check(target), TargetError, target)
  }
})

test('the lookup answers with checked addresses in both forms that a connection asks for', async () => {
  const guard = createGuard({ allowPrivate: false, resolve: publicNames })
  const one = await new Promise((resolve) => {
    guard.lookup('https:')('example.com', {}, (_error, address, family) => resolve([address, family]))
  })
  assert.deepEqual(one, ['93.184.216.34', 4])
  const all = await new Promise((resolve) => {
    guard.lookup('https:')('example.com', { all: true }, (_error, addresses) => resolve(addresses))
  })
  assert.deepEqual(all, [{ address: '93.184.216.34', family: 4 }])
})

test('addresses next to the reserved ranges are public', () => {
  for (const address of [
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.255.255',
    '192.167.255.255',
    '223.255.255.255',
    '2001:200::1',
    '2003::1',
    '2a00::1',
  ]) {
    assert.equal(classifyAddress(address), 'public', address)
  }
})

function connectError(guard: ReturnType<typeof createGuard>, protocol: string): Promise<unknown> {
  return new Promise((resolve) =>
    guard.lookup(protocol)('nasty.example', { all: true }, (error) => resolve(error)),
  )
}
