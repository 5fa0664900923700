/** The delivering half as a process of its own, to be killed. Arguments: folder. */
import { startRig } from './webhook-rig.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('no folder given')
const rig = await startRig({
  folder,
  webhooks: { retryDelaysMs: new Array(7).fill(30), answerLimitMs: 250, leaseMs: 1_000 },
})
process.on('message', async (message) => {
  if (message !== 'stop') return
  await rig.close({ keepFiles: true })
  process.disconnect?.()
})
process.send?.('ready')
