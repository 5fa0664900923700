/** A worker thread with a fake node whose getBlocks answer is huge, so that making it costs the test's loop nothing. */
import { parentPort, workerData } from 'node:worker_threads'
import { startFakeNode } from './wrpc-node.ts'

const { bytes } = workerData as { bytes: number }
const node = await startFakeNode()
const block = `{"hash":"${'ab'.repeat(32)}","nonce":18446744073709551615,"parents":["${'cd'.repeat(32)}"]}`
const answer = `{"blocks":[${Array.from({ length: Math.ceil(bytes / (block.length + 1)) }, () => block).join(',')}]}`
node.respond.set('getBlocks', () => answer)
parentPort?.postMessage({ url: node.url, answerBytes: answer.length })
