/**
 * The writer thread: the only writer of its file in this process. It takes every request that is waiting
 * into one transaction, commits, and only then replies.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { committer, type Request } from './environment-transactions.ts'
import { openDatabase } from './open.ts'

if (parentPort === null) throw new Error('this file runs as a worker thread')
const port = parentPort
const database = openDatabase({ file: workerData.file, cacheBytes: workerData.cacheBytes })
const writer = committer(database)
let closing = false

function nextRequest(): Request | undefined {
  const message = receiveMessageOnPort(port)?.message
  if (message === 'close') {
    closing = true
    return undefined
  }
  return message
}

port.on('message', (message: Request | 'close') => {
  if (message === 'close') closing = true
  else port.postMessage(writer.commit(message, nextRequest))
  if (closing) {
    database.close()
    port.close()
  }
})
