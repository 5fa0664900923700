/** A recorder of prediction markets and the oracle in a separate process, to be killed. */
import { followParent } from '../followed-process.ts'
import {
  type PredictionAddresses,
  type PredictionsRecording,
  startPredictionsRecording,
} from './recording.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as {
  sandbox: PredictionAddresses
  nowMs: number
  folder: string
}
let recording: PredictionsRecording | undefined
/** Every channel is up, and every venue has sent something. */
const clock = followParent(
  options.nowMs,
  () =>
    recording?.supervisor
      .status()
      .every(
        ({ detail: { channels, channelsUp, rowsInserted } }) => channelsUp === channels && rowsInserted > 0,
      ) === true,
)
recording = await startPredictionsRecording(
  { clock, sandbox: options.sandbox },
  {
    venues: ['polymarket', 'kalshi', 'chainlink'],
    symbols: ['BTC'],
    folder: options.folder,
    oracleBackMs: 20 * 60_000,
  },
)
process.once('SIGTERM', () => void recording?.close().then(() => process.exit(0)))
