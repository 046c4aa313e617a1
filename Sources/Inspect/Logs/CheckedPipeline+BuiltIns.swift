import BuiltIns
import PipelineKit
import StageTool

extension CheckedPipeline {
    /// Checks the settings of every stage.
    ///
    /// - Throws: ``ToolFailure`` with 66 if the file is missing, a directory or not readable; ``PipelineFileError``
    ///   with all mistakes in the file.
    package init(path: String) throws { try self.init(PipelineText(argument: path)) }

    /// - Parameter host: See ``ofThisHost(_:named:)``.
    /// - Throws: ``PipelineFileError`` with all mistakes in the file.
    package init(_ text: PipelineText, host: String? = nil) throws {
        try self.init(text, host: host, checkingAllStagesWith: .builtIns)
    }
}
