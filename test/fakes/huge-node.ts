/** A fake node with a huge getBlocks answer, in a worker thread, so that the test's loop does not have to build it. */
import { parentPort, workerData } from 'node:worker_threads'
import { startFakeNode } from './wrpc-node.ts'

const { bytes } = workerData as { bytes: number }
const node = await startFakeNode()
const block = `{"hash":"${'ab'.repeat(32)}","nonce":18446744073709551615,"parents":["${'cd'.repeat(32)}"]}`
const answer = `{"blocks":[${Array.from({ length: Math.ceil(bytes / (block.length + 1)) }, () => block).join(',')}]}`
node.respond.set('getBlocks', () => answer)
parentPort?.postMessage({ url: node.url, answerBytes: answer.length })
