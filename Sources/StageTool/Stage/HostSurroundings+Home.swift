import JetStreamHome
import PipelineRuntime

extension HostSurroundings {
    /// Opens homes of logs in JetStream. Messages to the operator go to standard error.
    package static let openJetStreamHome: HomeOpener = { settings, pipeline, host, stage in
        try JetStreamHome(settings, pipeline: pipeline, host: host) { StandardError.write("\(stage): \($0)") }
    }
}
