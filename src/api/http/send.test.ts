import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCors } from './cors.ts'
import type { ResponseWriter } from './response-writer.ts'
import { sendReply } from './send.ts'

for (const method of ['GET', 'HEAD']) {
  test(`the memory of a page is returned once when ${method} has been answered`, async () => {
    let returned = 0
    const response = {
      writeHead() {},
      end(_body?: Buffer, done?: () => void) {
        done?.()
      },
    } as unknown as ResponseWriter
    const lent = { release: () => void returned++, room: 0 }
    const answer = { status: 200, headers: [], body: Buffer.alloc(100), lent }
    await sendReply({ method, headers: {} }, response, answer, { requestId: 'r', cors: createCors([]) })
    assert.equal(returned, 1)
  })
}
