import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { fetchOverHttp } from './fetch-over-http.ts'
import type { FetchInit } from './http.ts'

async function serve(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/plain' }).end('elsewhere')
    else if (request.url === '/packed')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"packed":true}'))
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': '100' }).write('{"a":')
      setTimeout(() => response.destroy(), 20)
    } else {
      const { authorization = null } = request.headers
      response
        .writeHead(200, { 'x-used': '7' })
        .end(JSON.stringify({ method: request.method, authorization }))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const init = (): FetchInit => ({ method: 'GET', headers: {}, signal: new AbortController().signal })

async function textOf(url: string, options = init()): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of (await fetchOverHttp(url, options)).body ?? []) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test('a response is read with its headers, packed or not', async (t) => {
  const base = await serve(t)
  const response = await fetchOverHttp(`${base}/plain`, init())
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('X-Used'), '7')
  assert.equal(response.headers.get('retry-after'), null)
  for await (const chunk of response.body ?? []) assert.match(String(chunk), /GET/)
  assert.equal(await textOf(`${base}/packed`), '{"packed":true}')
  const posted = await textOf(`${base}/plain`, { ...init(), method: 'POST', body: '{}' })
  assert.match(posted, /"POST"/)
})

test('a name and password in the address travel as a header', async (t) => {
  const base = await serve(t)
  const text = await textOf(base.replace('//', '//me:se%20cret@'))
  assert.equal(JSON.parse(text).authorization, `Basic ${Buffer.from('me:se cret').toString('base64')}`)
})

test('a redirect, a body that is cut off and an aborted request fail', async (t) => {
  const base = await serve(t)
  await assert.rejects(fetchOverHttp(`${base}/moved`, init()), /fetch failed/)
  await assert.rejects(textOf(`${base}/cut`))
  await assert.rejects(fetchOverHttp('http://127.0.0.1:1/', init()), /fetch failed/)
  await assert.rejects(fetchOverHttp(base, { ...init(), signal: AbortSignal.abort() }))
})
