import Replay

extension PipelinePosition {
    package init(_ position: LogPosition?, of recorded: RecordedPipeline) throws {
        switch try position?.point(in: recorded.stages[0].log.directory) {
        case .sequence(let sequence): self = .sequence(sequence)
        case .time(let time): self = .time(time)
        case nil: self = .end
        }
    }
}
