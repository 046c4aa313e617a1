import ArgumentParser
import Inspect

/// The pipeline and the logs that a command works on.
struct RecordedPlaceOptions: ParsableArguments {
    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Option(help: "A folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    func find() throws -> RecordedPlace { try RecordedPlace(pipeline, logs: logs) }
}
