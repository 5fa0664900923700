/** The simulated node as the service runs it, in a separate process; prints its address like the others. */
import { startSandboxNode } from '../sandbox/node/run.ts'

const node = await startSandboxNode({ seed: 7, transactionsPerSecond: 2, warmUpBlocks: 100 })
process.stdout.write(`${node.url.replace('ws:', 'http:')}\n`)
process.once('SIGTERM', () => void node.close().then(() => process.exit(0)))
