import Foundation

/// A pipeline file as it was read. What is written to the file later is nothing to it.
package struct PipelineText: Hashable, Sendable {
    /// What messages call the file.
    package let path: String
    /// Where relative paths in it begin; absolute.
    package let folder: String
    package let text: String

    package init(path: String, folder: String, text: String) {
        (self.path, self.folder, self.text) = (path, folder, text)
    }

    /// Reads a file.
    ///
    /// - Throws: Where it cannot be read, is too large, or is not UTF-8.
    package init(path: String) throws(PipelineFileError) {
        let absolute = FilePathText.join(ConfigurationFile.currentFolder, path)
        self.init(path: path, folder: FilePathText.folder(of: absolute), text: try PipelineText.text(of: path))
    }

    private static func text(of path: String) throws(PipelineFileError) -> String {
        let bytes: [UInt8]
        do throws(Complaint) {
            bytes = try ConfigurationFile.read(path, bytesMax: SettingsDocument.bytesMax)
        } catch {
            throw PipelineFileError([SettingsError(file: path, reason: error.reason, hint: error.hint)])
        }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let place = ConfigurationFile.placeOfInvalidByte(bytes)
        throw PipelineFileError([
            SettingsError(file: path, at: place, reason: "a byte that is not UTF-8", hint: "save the file as UTF-8")
        ])
    }
}

extension PipelineFile {
    /// Reads and checks a text. Paths in it become absolute.
    ///
    /// - Parameters:
    ///   - registry: The known stages, which give logs their standard names.
    ///   - check: What a stage must fulfil beside the file's own rules; its errors are reported with theirs.
    /// - Throws: Everything that is wrong with it.
    package static func parse(
        _ text: PipelineText, registry: Registry,
        check: (PipelineStage) throws(PipelineFileError) -> Void = { _ in }
    ) throws(PipelineFileError) -> PipelineFile {
        try parse(text.text, file: text.path, folder: text.folder, registry: registry, check: check)
    }
}
