import EventLog
import Foundation

@testable import BelfryTool

extension VirtualPipeline {
    /// Exports the logs as `belfry log export` does, imports them as `belfry log import` does, and returns the folder
    /// of the imported logs.
    func exportedAndImported(mask: ExportMask? = nil) throws -> String {
        var lines = Data()
        try LogExport.run(directories: Self.logs.map { "\(folderOfLogs)/\($0)" }, mask: mask) {
            lines.append(contentsOf: $0)
        }
        try lines.write(to: URL(fileURLWithPath: folder.path + "/all.ndjson"))
        let copy = folder.path + "/copy"
        _ = try LogImportCommand.run(folder.path + "/all.ndjson", into: copy)
        return copy
    }
}
