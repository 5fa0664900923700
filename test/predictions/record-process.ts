/**
 * A recorder of prediction markets and the oracle as a process of its own, to be killed. Options are JSON in the first
 * argument; its clock is steered by messages. It answers each time it has lived through with whether it hears all.
 */
import { type SteeredClock, steeredClock } from './paced-clock.ts'
import { type PredictionAddresses, startPredictionsRecording } from './recording.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as {
  sandbox: PredictionAddresses
  nowMs: number
  folder: string
}
const clock: SteeredClock = steeredClock(options.nowMs)
let isHearing = () => false
process.on('message', (nowMs: number) => {
  void clock.moveTo(nowMs).then(() => process.send?.({ isHearing: isHearing() }))
})
const recording = await startPredictionsRecording(
  { clock, sandbox: options.sandbox },
  {
    venues: ['polymarket', 'kalshi', 'chainlink'],
    symbols: ['BTC'],
    folder: options.folder,
    oracleBackMs: 20 * 60_000,
  },
)
isHearing = () =>
  recording.supervisor
    .status()
    .every(
      ({ detail: { channels, channelsUp, rowsInserted } }) => channelsUp === channels && rowsInserted > 0,
    )
process.once('SIGTERM', () => void recording.close().then(() => process.exit(0)))
