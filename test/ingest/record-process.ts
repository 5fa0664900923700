/** A recorder of the exchanges in a separate process, to be killed; ready once every channel has sent something. */
import { followParent } from '../followed-process.ts'
import { type Addresses, type Recording, startRecording } from './recording.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as {
  sandbox: Addresses
  nowMs: number
  folder: string
  backfillFromMs: number
}
let recording: Recording | undefined
const clock = followParent(
  options.nowMs,
  () =>
    recording?.supervisor
      .status()
      .every(({ detail }) => detail.channels > 0 && detail.channelsUp === detail.channels) === true,
)
recording = await startRecording(
  { clock, sandbox: options.sandbox },
  { folder: options.folder, backfill: true, backfillFromMs: options.backfillFromMs },
)
process.once('SIGTERM', () => void recording?.close().then(() => process.exit(0)))
