extension PipelineFile {
    /// The same pipeline inside one process, with its logs elsewhere: links and door become `inproc` sockets.
    ///
    /// - Parameters:
    ///   - data: The folder for its logs, absolute.
    ///   - seed: Log identities are derived from it.
    package func inProcess(data: String, seed: String, log: LogSettings) -> PipelineFile {
        let moved = stages.map { stage in stage.bound(to: "inproc://\(stage.name)") }
        guard let source = moved.first(where: { $0.from == nil }) else {
            preconditionFailure("a pipeline has a source")
        }
        return PipelineFile(
            name: name, data: data, dataMode: dataMode, seed: seed, log: log, stages: moved, sourceStage: source)
    }
}

extension PipelineStage {
    func bound(to endpoint: String) -> PipelineStage {
        var stage = self
        (stage.bind, stage.curve) = (endpoint, nil)
        return stage
    }
}
