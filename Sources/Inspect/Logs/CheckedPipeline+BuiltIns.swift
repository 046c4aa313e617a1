import BuiltIns
import PipelineKit
import StageTool

extension CheckedPipeline {
    /// Checks the settings of every stage.
    ///
    /// - Throws: ``ToolFailure`` with 66 where there is no file; ``PipelineFileError`` with everything wrong with it.
    package init(path: String) throws { try self.init(PipelineText(argument: path)) }

    /// - Throws: ``PipelineFileError`` with everything wrong with it.
    package init(_ text: PipelineText) throws {
        try self.init(text, all: .builtIns)
    }
}
