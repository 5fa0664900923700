/** A recorder of prediction markets and the oracle as a process of its own, to be killed. Options are JSON in the first argument. */
import { sharedClock, type TimeBase } from '../ingest/recording.ts'
import { type PredictionAddresses, startPredictionsRecording } from './recording.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as {
  sandbox: PredictionAddresses
  timeBase: TimeBase
  folder: string
}
const recording = await startPredictionsRecording(
  { clock: sharedClock(options.timeBase), sandbox: options.sandbox },
  {
    venues: ['polymarket', 'kalshi', 'chainlink'],
    symbols: ['BTC'],
    folder: options.folder,
    oracleBackMs: 20 * 60_000,
  },
)
process.stdout.write('recording\n')
process.once('SIGTERM', () => void recording.close().then(() => process.exit(0)))
