import Foundation

/// The text of a pipeline file at the time at which it was read.
package struct PipelineText: Hashable, Sendable {
    /// The file name in messages.
    package let path: String
    /// The absolute path of the folder against which relative paths are resolved.
    package let folder: String
    package let text: String

    package init(path: String, folder: String, text: String) {
        (self.path, self.folder, self.text) = (path, folder, text)
    }

    /// Reads a file.
    ///
    /// - Throws: If the file cannot be read, is too large, or is not UTF-8.
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
            SettingsError(
                file: path, at: place, reason: "found a byte that is not UTF-8", hint: "save the file as UTF-8")
        ])
    }
}
