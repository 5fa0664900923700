/**
 * A recorder as a process of its own, to be killed. Takes its options as JSON in the first argument; prints `recording`
 * when it was started and `up` when every channel has sent something.
 */
import { type Addresses, sharedClock, startRecording, type TimeBase } from './recording.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as {
  sandbox: Addresses
  timeBase: TimeBase
  folder: string
  backfillFromMs: number
}
const recording = await startRecording(
  { clock: sharedClock(options.timeBase), sandbox: options.sandbox },
  { folder: options.folder, backfill: true, backfillFromMs: options.backfillFromMs },
)
process.stdout.write('recording\n')
const isUp = () =>
  recording.supervisor
    .status()
    .every(({ detail }) => detail.channels > 0 && detail.channelsUp === detail.channels)
const looking = setInterval(() => {
  if (!isUp()) return
  clearInterval(looking)
  process.stdout.write('up\n')
}, 20)
process.once('SIGTERM', () => void recording.close().then(() => process.exit(0)))
