import Glibc
import PipelineKit
import PipelineRuntime

/// How `belfry up` starts each stage: as this same program, so that no stage is of another build than the rest and than
/// what checked the file. `belfry-ingest` and its like are for those who start a stage by itself.
struct StagePrograms {
    let belfry: String

    init(belfry: String = StagePrograms.ownPath) { self.belfry = belfry }

    /// The folder that this program was started from.
    var folder: String { belfry.lastIndex(of: "/").map { String(belfry[..<$0]) } ?? "." }

    func program(for stage: PipelineStage, pipeline: String) -> Supervisor.Program {
        Supervisor.Program(stage: stage.name, command: [belfry, "stage", stage.name, "--pipeline", pipeline])
    }

    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return CommandLine.arguments[0] }
        defer { free(path) }
        return String(cString: path)
    }
}
